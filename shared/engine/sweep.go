package engine

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

	// Notices get a longer grace than Notify waits for a receiver that is down,
	// and a smaller share: while there is a backlog of them, the messages that
	// Sweep adds must not make it much larger.
	noticeGrace = time.Minute
	noticeCount = 500
)

// Sweep sends a new wake for each open transaction whose wake is overdue, and
// returns how many it woke. An unanswered transaction is woken at growing
// intervals. Then it does the same for notices that nobody has delivered, if
// somebody is to be told. Failures on single transactions do not stop the run;
// they are joined in the error.
func (r *Engine) Sweep(ctx context.Context) (woken int, err error) {
	woken, err = r.each(ctx, r.Store.Overdue, r.Now().Add(-sweepGrace), sweepCount, r.wake)
	if !r.Budgets.Notify {
		return woken, err
	}
	asked, nerr := r.each(ctx, r.Store.OverdueNotices, r.Now().Add(-noticeGrace), noticeCount, r.wakeNotices)
	if asked > 0 {
		r.Log.InfoContext(ctx, "overdue notices asked for again", "count", asked)
	}
	return woken, errors.Join(err, nerr)
}

// each acts on the transactions of a list of overdue ones, on up to count of
// them, and returns on how many.
func (r *Engine) each(ctx context.Context,
	list func(context.Context, workflow.Instant, string) ([]string, string, error), due time.Time, count int,
	act func(ctx context.Context, id string, before workflow.Instant) (bool, error)) (acted int, err error) {
	before := workflow.At(due)
	var (
		done atomic.Int64
		errs []error
		seen int
		next string
	)
	for range sweepPages {
		var ids []string
		ids, next, err = list(ctx, before, next)
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
			break
		}
		failed := make([]error, len(ids))
		var group errgroup.Group
		group.SetLimit(sweepParallel)
		for i, id := range ids {
			group.Go(func() error {
				ok, err := act(ctx, id, before)
				if ok {
					done.Add(1)
				}
				failed[i] = err
				return nil
			})
		}
		_ = group.Wait() // its functions return no error
		errs = append(errs, failed...)
		seen += len(ids)
		if next == "" || seen >= count || ctx.Err() != nil {
			break
		}
	}
	return int(done.Load()), errors.Join(errs...)
}

// wake raises and sends a wake, unless someone else has done something about
// the transaction meanwhile.
func (r *Engine) wake(ctx context.Context, id string, before workflow.Instant) (bool, error) {
	p, err := r.raise(ctx, id, func(p *workflow.Progress) bool {
		if p.Rests() || !p.WakeAt.Before(before.Time) {
			return false
		}
		p.Sweeps++
		p.RaiseWake(r.Now().Add(r.Budgets.Backoff(r.Jitter()).Delay(p.Sweeps)))
		return true
	})
	if p == nil {
		return false, err
	}
	if err := r.Successor(ctx, p); err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	return true, nil
}

// wakeNotices does the same for notices. They are due at once: a message that
// still waits in a long queue can then deliver them as well, and for those that
// can't be delivered Notify has the growing delays.
func (r *Engine) wakeNotices(ctx context.Context, id string, before workflow.Instant) (bool, error) {
	p, err := r.raise(ctx, id, func(p *workflow.Progress) bool {
		if len(p.Outbox.Notices) == 0 || !p.Outbox.At.Before(before.Time) {
			return false
		}
		p.RaiseNotice(r.Now())
		return true
	})
	if p == nil {
		return false, err
	}
	if err := r.Announce(ctx, p); err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	return true, nil
}

// raise changes a transaction and saves it. It returns nil when there is nothing
// to change, or somebody else has changed it meanwhile.
func (r *Engine) raise(ctx context.Context, id string, change func(*workflow.Progress) bool) (*workflow.Progress, error) {
	p, etag, err := r.Store.Read(ctx, id)
	if failure.Is(err, failure.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sweep transaction %s: %w", id, err)
	}
	// What a newer version of this code has written, that version sweeps.
	if p.Schema > workflow.Schema || !change(p) {
		return nil, nil
	}
	if _, err := r.Store.Replace(ctx, p, etag); failure.Is(err, failure.Conflict) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("sweep transaction %s: %w", id, err)
	}
	return p, nil
}
