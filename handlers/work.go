package main

import (
	"context"
	"errors"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// work returns the function of a queue: Schedule or Supervise. Nil completes
// the message, an error abandons it. What no repeat can mend goes to the
// quarantine, and the message is completed once it is there.
func (a *App) work(queue string, handle func(context.Context, engine.Envelope) error) customhandler.EventFunc {
	return func(ctx context.Context, i *customhandler.Invocation) error {
		m, err := messageOf(i, queue)
		if err != nil {
			return err
		}
		envelope, err := engine.DecodeIn(a.settings.Shard, m.Body)
		if err == nil {
			ctx = observe.About(ctx, envelope.TransactionID, envelope.OperationID)
			err = handle(ctx, envelope)
		}
		switch {
		case errors.Is(err, engine.ErrUnreadable):
			m.Reason = quarantine.ReasonUnreadable
		case errors.Is(err, engine.ErrOtherShard):
			m.Reason = quarantine.ReasonOtherShard
		case errors.Is(err, engine.ErrTooOld), errors.Is(err, engine.ErrUnknownTransaction):
			m.Reason = quarantine.ReasonExpired
		default:
			return err
		}
		m.Description = err.Error()
		return a.services.quarantine.Poison(ctx, m)
	}
}

// messageOf reads a message of the Service Bus trigger.
func messageOf(i *customhandler.Invocation, queue string) (quarantine.Received, error) {
	body, err := i.Bytes("message")
	if err != nil {
		return quarantine.Received{}, err
	}
	sequence, err := i.Metadata.Int("SequenceNumber")
	if err != nil {
		return quarantine.Received{}, err
	}
	m := quarantine.Received{Queue: queue, SequenceNumber: sequence, Body: body}
	if i.Metadata.Has("MessageId") { // others than this system may send without
		if m.MessageID, err = i.Metadata.String("MessageId"); err != nil {
			return quarantine.Received{}, err
		}
	}
	if i.Metadata.Has("ApplicationProperties") {
		properties, err := i.Metadata.Object("ApplicationProperties")
		if err != nil {
			return quarantine.Received{}, err
		}
		m.Properties = valuesOf(properties)
	}
	return m, nil
}
