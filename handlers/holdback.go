package main

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// failures is how long the failure of a message is held back, by the number of
// its deliveries. The host abandons at once, so that without it an outage of
// the storage would use up all deliveries of a message within a second, and a
// dead letter would come again without an end and without a pause.
var failures = workflow.Backoff{Min: 100 * time.Millisecond, Max: 10 * time.Second}

// heldBack returns fn, whose failures are held back.
func (a *App) heldBack(fn customhandler.EventFunc) customhandler.EventFunc {
	return func(ctx context.Context, i *customhandler.Invocation) error {
		if err := fn(ctx, i); err != nil {
			return a.holdBack(ctx, i, err)
		}
		return nil
	}
}

// holdBack returns err after the time that the message's delivery count asks
// for, or when ctx ends.
func (a *App) holdBack(ctx context.Context, i *customhandler.Invocation, err error) error {
	deliveries, missing := i.Metadata.Int("DeliveryCount")
	if missing != nil {
		deliveries = 1
	}
	timer := time.NewTimer(failures.Delay(int(deliveries)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}
