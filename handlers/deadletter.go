package main

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// The application properties in which Service Bus says why it gave up.
const (
	deadLetterReason      = "DeadLetterReason"
	deadLetterDescription = "DeadLetterErrorDescription"
)

// deadLetter returns the function of a queue's dead-letter sub-queue: it moves
// the message into the quarantine and has its transaction woken.
func (a *App) deadLetter(queue string) customhandler.EventFunc {
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
		return a.services.quarantine.DeadLetter(ctx, m)
	}
}
