package main

import (
	"context"
	"errors"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
)

// sweep finds the work that nobody does: the transactions whose wake is overdue,
// and the events that the trigger has skipped. Neither waits for the other. An
// error is logged by the caller; the next run of the timer finds what was left.
func (a *App) sweep(ctx context.Context, _ *customhandler.Invocation) error {
	var events int
	var behind error
	var group sync.WaitGroup
	group.Go(func() { events, behind = a.services.relay.CatchUp(ctx) })
	woken, err := a.services.supervise.Sweep(ctx)
	group.Wait()
	if woken > 0 {
		a.logger.InfoContext(ctx, "overdue transactions woken", "count", woken)
	}
	if events > 0 {
		a.logger.InfoContext(ctx, "skipped events relayed", "count", events)
	}
	return errors.Join(err, behind)
}
