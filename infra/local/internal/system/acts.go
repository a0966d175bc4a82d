package system

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// actsPoll is how often the plan is looked at: it can change at any time.
const actsPoll = 200 * time.Millisecond

// doings are what an act does, by its point. One returns nil when it has been
// done, errNotNow when there was nothing to do it to.
type doings map[fault.Point]func(context.Context) error

// errNotNow is returned by an act that had nothing to be done to.
var errNotNow = errors.New("nothing to act on at the moment")

// doings are the acts of an instance.
func (i *Instance) doings() doings {
	return doings{
		fault.HandlerKill: func(context.Context) error {
			if !i.Host().KillHandler() {
				return errNotNow
			}
			return nil
		},
		fault.HostStop:        i.StopHost,
		fault.HostStopInRetry: i.StopHostInRetry,
		fault.HostOwnership: func(ctx context.Context) error {
			n, err := i.Host().LosePartitions(ctx)
			if err == nil && n == 0 {
				return errNotNow
			}
			return err
		},
	}
}

// lasting are the acts of an instance that are done for a time, until ctx ends.
func (i *Instance) lasting() doings {
	return doings{
		fault.HandlerFreeze: func(ctx context.Context) error {
			frozen, err := i.Host().FreezeHandler(ctx)
			if err == nil && !frozen {
				return errNotNow
			}
			return err
		},
		fault.HostTwoOwners: func(ctx context.Context) error {
			h := i.Host()
			until, _ := ctx.Deadline()
			if h.KeepPartitions(until) == 0 {
				return errNotNow
			}
			<-ctx.Done()
			h.KeepPartitions(time.Now())
			return nil
		},
	}
}

// acts does what the plan says is done at intervals, each act in a loop of its
// own: one may have to wait for its moment.
type acts struct {
	faults *fault.Injector
	share  time.Duration // instances that do the acts of one plan
	log    *slog.Logger
	wg     sync.WaitGroup
	// lasting counts the acts under way that last: what is frozen must not be
	// killed before it goes on, and who goes on with partitions must not be
	// stopped.
	lasting atomic.Int32
}

// start runs the loops until ctx ends.
func (a *acts) start(ctx context.Context, faults *fault.Injector, instances int, all doings, log *slog.Logger) {
	a.faults, a.share, a.log = faults, time.Duration(instances), log
	for point, do := range all {
		a.wg.Go(func() { a.loop(ctx, point, do) })
	}
}

// last runs the loops of acts that last, of the instance of this name, until ctx
// ends. Call start before.
func (a *acts) last(ctx context.Context, name string, all doings) {
	for point, do := range all {
		a.wg.Go(func() { a.lastLoop(ctx, point, name, do) })
	}
}

// lastLoop does an act once in each burst of it, as soon as it can be done.
func (a *acts) lastLoop(ctx context.Context, point fault.Point, name string, do func(context.Context) error) {
	tick := time.NewTicker(actsPoll)
	defer tick.Stop()
	var over time.Time // the end of the burst in which it was done last
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		until, now := a.faults.Lasts(point, name)
		if !now || !time.Now().After(over) {
			continue
		}
		err := a.doUntil(ctx, until, point, name, do)
		switch {
		case err == nil:
			over = until
			a.faults.Done(point)
			a.log.Info("fault injection", "act", string(point), "until", until)
		case ctx.Err() == nil && !errors.Is(err, errNotNow):
			over = until
			a.log.Info("fault injection: an act was not done", "act", string(point), "reason", err)
		}
	}
}

// doUntil does an act that lasts, until then or until the plan has its burst no
// longer.
func (a *acts) doUntil(ctx context.Context, until time.Time, point fault.Point, name string, do func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	a.lasting.Add(1)
	defer a.lasting.Add(-1)
	var watch sync.WaitGroup
	defer watch.Wait()
	done := make(chan struct{})
	defer close(done)
	watch.Go(func() {
		tick := time.NewTicker(actsPoll)
		defer tick.Stop()
		for {
			if _, now := a.faults.Lasts(point, name); !now {
				cancel()
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return do(ctx)
}

// hindrance is why an act is not to be done.
func (a *acts) hindrance() error {
	if a.lasting.Load() > 0 {
		return errBeside
	}
	return errNoLongerPlanned
}

// wait waits for the loops.
func (a *acts) wait() { a.wg.Wait() }

func (a *acts) loop(ctx context.Context, point fault.Point, do func(context.Context) error) {
	for n := uint64(1); a.pause(ctx, point, n); n++ {
		err := a.do(ctx, point, do)
		switch {
		case errors.Is(err, errBeside):
		case err == nil:
			a.faults.Done(point)
			a.log.Info("fault injection", "act", string(point))
		case ctx.Err() == nil:
			a.log.Info("fault injection: an act was not done", "act", string(point), "reason", err)
		}
	}
}

// pause waits until an act is to be done for the nth time, by all that share the
// plan together once in the plan's interval. The wait begins anew when the act
// comes into the plan.
func (a *acts) pause(ctx context.Context, point fault.Point, n uint64) bool {
	tick := time.NewTicker(actsPoll)
	defer tick.Stop()
	var since time.Time
	for {
		interval := a.faults.Interval(point, n)
		switch {
		case interval == 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if interval > 0 && time.Since(since) >= interval*a.share {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// What ends an act that waits for its moment.
var (
	errNoLongerPlanned = errors.New("no longer in the plan")
	errBeside          = errors.New("another act is still under way")
)

// do does an act; it gives up when the plan has it no longer, and while an act
// that lasts is under way.
func (a *acts) do(ctx context.Context, point fault.Point, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	done := make(chan struct{})
	defer close(done)
	watch.Go(func() {
		tick := time.NewTicker(actsPoll)
		defer tick.Stop()
		for a.faults.Interval(point, 1) > 0 && a.lasting.Load() == 0 {
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
		cancel(a.hindrance())
	})
	if a.lasting.Load() > 0 {
		return errBeside
	}
	if err := do(ctx); err == nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}
