package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The bounds of one run of Sweep. What it leaves, the next run finds.
const (
	sweepGrace    = 15 * time.Second // that a wake may be late before it counts as unanswered
	sweepPages    = 100
	sweepCount    = 2000 // transactions looked at
	sweepParallel = 8
)

// Sweep sends a new wake for each open transaction whose wake is overdue, and
// returns how many it woke. An unanswered transaction is woken at growing
// intervals. Failures on single transactions do not stop the run; they are
// joined in the error.
func (s *Service) Sweep(ctx context.Context) (woken int, err error) {
	before := workflow.At(s.runner.Now().Add(-sweepGrace))
	var (
		count atomic.Int64
		errs  []error
		seen  int
		next  string
	)
	for range sweepPages {
		var ids []string
		ids, next, err = s.runner.Store.Overdue(ctx, before, next)
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
			break
		}
		failed := make([]error, len(ids))
		var group errgroup.Group
		group.SetLimit(sweepParallel)
		for i, id := range ids {
			group.Go(func() error {
				ok, err := s.wake(ctx, id, before)
				if ok {
					count.Add(1)
				}
				failed[i] = err
				return nil
			})
		}
		_ = group.Wait() // its functions return no error
		errs = append(errs, failed...)
		seen += len(ids)
		if next == "" || seen >= sweepCount || ctx.Err() != nil {
			break
		}
	}
	return int(count.Load()), errors.Join(errs...)
}

// wake raises and sends a wake, unless someone else has done something about
// the transaction meanwhile.
func (s *Service) wake(ctx context.Context, id string, before workflow.Instant) (bool, error) {
	r := s.runner
	p, etag, err := r.Store.Read(ctx, id)
	if failure.Is(err, failure.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sweep transaction %s: %w", id, err)
	}
	if p.Rests() || !p.WakeAt.Before(before.Time) {
		return false, nil
	}
	p.Sweeps++
	p.RaiseWake(r.Now().Add(r.Budgets.Backoff(r.Jitter()).Delay(p.Sweeps)))
	if _, err := r.Store.Replace(ctx, p, etag); failure.Is(err, failure.Conflict) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("sweep transaction %s: %w", id, err)
	}
	if err := r.Successor(ctx, p); err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	return true, nil
}
