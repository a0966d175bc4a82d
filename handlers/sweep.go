package main

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
)

// sweep wakes the transactions that nobody works on. An error is logged by the
// caller; the next run of the timer finds what was left.
func (a *App) sweep(ctx context.Context, _ *customhandler.Invocation) error {
	woken, err := a.services.supervise.Sweep(ctx)
	if woken > 0 {
		a.logger.InfoContext(ctx, "overdue transactions woken", "count", woken)
	}
	return err
}
