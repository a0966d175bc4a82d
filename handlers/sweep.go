package main

import (
	"context"
	"errors"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
)

// sweep finds the work that nobody does: the transactions whose wake is overdue,
// the events that the trigger has skipped, and the dead letters that no function
// can be given; and it looks around for those who ask how things stand. None waits for another. An
// error is logged by the caller; the next run of the timer finds what was left.
func (a *App) sweep(ctx context.Context, _ *customhandler.Invocation) error {
	var events int
	var behind, kept, surveyed, renewed error
	var group sync.WaitGroup
	group.Go(func() { events, behind = a.services.relay.CatchUp(ctx) })
	group.Go(func() { kept = a.drain(ctx) })
	group.Go(func() { surveyed = a.services.operate.Survey(ctx) })
	woken, err := a.services.engine.Sweep(ctx)
	if a.settings.Shard.IsZero() {
		renewed = a.services.ingest.RenewPlaces(ctx)
	}
	group.Wait()
	if woken > 0 {
		a.logger.InfoContext(ctx, "overdue transactions woken", "count", woken)
	}
	if events > 0 {
		a.logger.InfoContext(ctx, "skipped events relayed", "count", events)
	}
	return errors.Join(err, behind, kept, surveyed, renewed)
}

// drain moves what no function can be given into the quarantine.
func (a *App) drain(ctx context.Context) error {
	var errs []error
	for _, queue := range a.settings.Queues() {
		_, err := a.undeliverable(ctx, queue, a.services.quarantine.DeadLetter)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
