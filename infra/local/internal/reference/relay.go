package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// relay copies events to the queue. After an error the trigger moves on all the
// same.
func (a *app) relay(ctx context.Context, i *customhandler.Invocation) error {
	bodies, err := i.BytesArray("events")
	if err != nil {
		return err
	}
	var messages []message.Queued
	for _, body := range bodies {
		if _, err := message.Decode(body); err != nil {
			a.logger.WarnContext(ctx, "event dropped", telemetry.KeyError, err)
			continue
		}
		messages = append(messages, message.Queued{
			Queue: a.settings.DeliveriesQueue, MessageID: uuid.NewString(), // says nothing: no repeat is known by it
			Body: body,
		})
	}
	if err := a.sender.Send(ctx, messages...); err != nil {
		return fmt.Errorf("relay %d events: %w", len(messages), err)
	}
	return nil
}
