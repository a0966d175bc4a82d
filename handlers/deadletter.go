package main

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// The application properties in which Service Bus says why it gave up.
const (
	deadLetterReason      = "DeadLetterReason"
	deadLetterDescription = "DeadLetterErrorDescription"
)

// deadLetter returns the function of a queue's dead-letter sub-queue.
func (a *App) deadLetter(queue string, handle func(context.Context, quarantine.Received) error) customhandler.EventFunc {
	return func(ctx context.Context, i *customhandler.Invocation) error {
		m, err := messageOf(i, queue)
		if err != nil {
			return err
		}
		ctx = observe.About(ctx, quarantine.TransactionOf(m.Body), "")
		m.Reason, _ = m.Properties[deadLetterReason].(string)
		m.Description, _ = m.Properties[deadLetterDescription].(string)
		a.logger.WarnContext(ctx, "dead letter", telemetry.KeyQueue, queue, telemetry.KeyMessage, m.MessageID,
			telemetry.KeySequence, m.SequenceNumber, "reason", m.Reason)
		return handle(ctx, m)
	}
}

// deadNotice handles a dead letter of the notifications queue. A message that asks
// for notices stands for nothing of its own: the notices are in their
// transaction's outbox, and Sweep asks for them again. So there is nothing for
// people to look at; what kept it from being handled has been logged with each
// delivery. Anything else that comes here goes into the quarantine.
func (a *App) deadNotice(ctx context.Context, m quarantine.Received) error {
	if e, err := engine.Decode(m.Body); err == nil && e.Operation == "" {
		return nil
	}
	return a.services.quarantine.KeepDead(ctx, m)
}
