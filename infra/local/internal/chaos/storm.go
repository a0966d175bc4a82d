package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/tree"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// kill is a planned end of the whole tree.
type kill struct {
	at time.Duration // since the start
	// again, if it is not 0, is how long after the restart the tree is killed
	// once more: most likely while it recovers.
	again time.Duration
}

// planKills returns the kills in the order of their moments.
func planKills(seed uint64, kills int, duration time.Duration) []kill {
	random := rand.New(rand.NewPCG(seed, 0x6b696c6c))
	moments := make([]time.Duration, kills)
	for i := range moments {
		moments[i] = duration/6 + upTo(random, duration*2/3)
	}
	slices.Sort(moments)
	all := make([]kill, kills)
	for i := range all {
		all[i].at = moments[i]
		if random.IntN(2) == 0 || i > 0 && i == kills-1 {
			all[i].again = 100*time.Millisecond + upTo(random, 1400*time.Millisecond)
		}
	}
	return all
}

const (
	stormTick = 20 * time.Millisecond // less than a handler needs to start again
	lookEvery = time.Second
	// armFor is how long crash points are armed before others have their turn, and
	// how long handlers are spared.
	armFor = 2 * time.Second
)

// storm sends everything while everything breaks. When the time is up, it ends
// the faults and waits for the clients that have no answer yet.
func (r *run) storm(ctx context.Context) (err error) {
	r.begun = time.Now()
	r.plan.Bursts = r.c.planBursts(r.begun)
	if err := r.faults.set(ctx, r.at.Admin, r.plan); err != nil {
		return err
	}
	all, err := r.sendings()
	if err != nil {
		return err
	}
	services, err := workload.OpenServices(workload.Target{
		EventHubs: r.at.EventHubs, EventHub: eventHub, ServiceBus: r.at.ServiceBus, CosmosDB: r.at.CosmosDB, Database: database,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	r.c.Notice(fmt.Sprintf("sending %d requests in %v under faults, seed %d", r.c.Requests, r.c.Duration, r.c.Seed))

	limited, stop := context.WithTimeout(ctx, r.c.Duration+r.c.encoreTime()+r.c.Settle)
	defer stop()
	patience, lose := context.WithCancel(limited)
	defer lose()
	group, working := errgroup.WithContext(limited)
	group.Go(func() error {
		return r.load.run(working, patience, all)
	})
	group.Go(func() error {
		return spread(working, r.poison, func(ctx context.Context, p poison) error {
			if p.queue == "" {
				return services.Put(ctx, p.body)
			}
			return services.PutInto(ctx, p.queue, p.body)
		})
	})
	app := r.options(workload.ClientOptions{Connections: 1})
	group.Go(func() error { return callMeanwhile(patience, app, r.c.Trial.Meanwhile) })
	group.Go(func() error { return r.makeMoves(patience, append(app.Others, app.URL), r.c.planMoves()) })
	w := &work{done: make(chan struct{})}
	go func() {
		w.err = group.Wait()
		close(w.done)
	}()

	err = r.breakAll(limited, w)
	lose()
	if err != nil {
		stop()
		<-w.done // fails because of this
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-r.tree.Failed():
		stop()
		<-w.done
		return r.died()
	}
}

// sendings are all that is sent, in an encore as well.
func (r *run) sendings() ([]sending, error) {
	all, err := r.c.mixture(r.begun, r.plan.Bursts).plan()
	if err != nil || r.c.encoreTime() == 0 {
		return all, err
	}
	more, err := r.c.encore(r.begun).plan()
	return slices.Concat(all, more), err
}

// work is what the clients do.
type work struct {
	done chan struct{} // closed when err is set
	err  error
}

// died is the error for a tree that has ended by itself, with what it said last.
func (r *run) died() error {
	said, err := os.ReadFile(r.paths.output)
	if err != nil {
		return errors.Join(tree.ErrNotServing, r.tree.Ended(), err)
	}
	said = bytes.TrimSpace(said)
	said = said[bytes.LastIndexByte(said, '\n')+1:]
	return fmt.Errorf("%w: %w: %s; see %s and %s", tree.ErrNotServing, r.tree.Ended(), said, r.paths.output, r.paths.log)
}

// breakAll breaks from outside what is to be broken, and steers what breaks from
// within, until the time is up, and for an encore as long as something is missing;
// then it ends all faults. It fails with the work.
func (r *run) breakAll(ctx context.Context, w *work) error {
	kills := planKills(r.c.Seed, r.c.TreeKills, r.c.Duration)
	tick := time.NewTicker(stormTick)
	defer tick.Stop()
	var looked time.Time
	working := w.done
	for {
		select {
		case <-working:
			if w.err != nil {
				return w.err
			}
			working = nil // all is answered, and the time is not up yet
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-r.tree.Failed():
			return r.died()
		case <-tick.C:
		}
		if len(kills) > 0 && time.Since(r.begun) >= kills[0].at {
			if err := r.killTree(ctx, kills[0].again); err != nil {
				return err
			}
			kills = kills[1:]
		}
		if err := r.arm(); err != nil {
			return err
		}
		if time.Since(looked) >= lookEvery {
			looked = time.Now()
			if err := r.faults.look(ctx, r.at.Admin); err != nil && ctx.Err() == nil {
				r.c.Notice(err.Error()) // the counts are late, nothing else
			} else if err := r.steer(ctx); err != nil {
				return err
			}
			r.show(Sending, 0)
			if r.over() {
				return r.calm(ctx)
			}
		}
	}
}

// over reports whether the storm is to end: its time is up, and nothing is missing
// or the encore's time is up as well.
func (r *run) over() bool {
	elapsed := time.Since(r.begun)
	if elapsed < r.c.Duration {
		return false
	}
	left := missing(measure(r.bounds, r.seen(0)))
	if len(left) == 0 || elapsed >= r.c.Duration+r.c.encoreTime() {
		return true
	}
	if !r.encore {
		r.encore = true
		var names []string
		for _, b := range left {
			names = append(names, fmt.Sprintf("%s (%d of %d)", b.Name, b.Seen, b.Wanted))
		}
		r.c.Notice(fmt.Sprintf("the time is up, and it goes on for up to %v, since too little has been seen of: %s", r.c.encoreTime(), strings.Join(names, ", ")))
	}
	return false
}

// steer puts another plan in force if something lags behind its bound, or does
// no more.
func (r *run) steer(ctx context.Context) error {
	if err := r.signs.look(); err != nil {
		return err
	}
	next := r.c.steered(situation{now: time.Now(), begun: r.begun, bounds: measure(r.bounds, r.seen(0)), plan: r.plan})
	if reflect.DeepEqual(next, r.plan) {
		return nil
	}
	r.plan = next
	return r.faults.set(ctx, r.at.Admin, r.plan)
}

// seen is what was seen so far; nobody knows how many are Completed before the
// end.
func (r *run) seen(completed int) seen {
	clients := r.tally.clients()
	s := seen{accepted: clients.Accepted, completed: completed, kills: r.kills, signs: maps.Clone(r.signs.counts), faults: r.faults.sum()}
	s.signs[Unacknowledged] = clients.Unsure
	if r.crashes != nil {
		c := r.crashes.coverage()
		s.points = c.Points - len(c.Missed)
	}
	return s
}

// arm arms other crash points when a handler has died at one, or when the
// present ones have been armed for long enough.
func (r *run) arm() error {
	if r.crashes == nil {
		return nil
	}
	deaths, err := r.crashes.look()
	if err != nil {
		return err
	}
	if deaths == 0 && time.Since(r.armed) < armFor {
		return nil
	}
	r.armed, r.spared = time.Now(), !r.spared
	if r.sparing() {
		return r.crashes.disarm()
	}
	return r.crashes.arm()
}

// sparing reports whether handlers are to live for now: every second time, or none
// would get on with what it has begun, and as long as there is something else to
// live for, accepted requests or what an encore is for. If too few have died by
// now, none are spared.
func (r *run) sparing() bool {
	if r.begun.IsZero() {
		return r.spared
	}
	lags := map[string]bool{}
	for _, b := range measure(r.bounds, r.seen(0)) {
		lags[b.Name] = r.c.lags(b, time.Since(r.begun))
	}
	return !lags[boundCrashes] && (r.spared || r.encore || lags[boundAccepted])
}

// arming goes on arming crash points until do has ended. A tree that ends by
// itself ends do, which would wait for it in vain.
func (r *run) arming(ctx context.Context, do func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	tick := time.NewTicker(stormTick)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-r.tree.Failed():
			end()
			<-done // fails because of this
			return r.died()
		case <-tick.C:
		}
		if err := r.arm(); err != nil {
			return errors.Join(err, <-done)
		}
	}
}

// killTree kills the tree and starts it again, with the same data at the same
// addresses. If again is not 0, it kills it once more that long after the
// start. Crash points stay armed meanwhile: handlers die while they take up
// what was left lying.
func (r *run) killTree(ctx context.Context, again time.Duration) error {
	if err := r.faults.look(ctx, r.at.Admin); err != nil && ctx.Err() == nil {
		r.c.Notice(err.Error())
	}
	if err := r.tree.Kill(); err != nil {
		return err
	}
	r.faults.ended()
	r.kills++
	r.c.Notice("killed the whole tree; starting it again with what it has stored")
	if again > 0 {
		if err := r.launch(); err != nil {
			return err
		}
		if !wait(ctx, again) {
			return ctx.Err()
		}
		if err := r.tree.Kill(); err != nil {
			return err
		}
		r.recoveryKills++
		r.c.Notice(fmt.Sprintf("killed it again %v after the start", again.Round(time.Millisecond)))
	}
	begun := time.Now()
	if err := r.revive(ctx); err != nil {
		return err
	}
	r.c.Notice(fmt.Sprintf("it serves again after %.1f s", time.Since(begun).Seconds()))
	return r.faults.set(ctx, r.at.Admin, r.plan)
}

// calm ends all faults. A handler that is at its last effect at this moment may
// still die of it.
func (r *run) calm(ctx context.Context) error {
	if err := r.disarm(); err != nil {
		return err
	}
	if err := r.faults.set(ctx, r.at.Admin, fault.Plan{Seed: r.c.Faults.Seed}); err != nil {
		return err
	}
	r.calmAt = time.Now()
	r.c.Notice("the faults have ended; waiting until everything has")
	return nil
}

// show tells how far the run is.
func (r *run) show(phase Phase, open int) {
	clients := r.tally.clients()
	s := Status{Phase: phase, Sent: clients.Sent, Accepted: clients.Accepted, Open: open, Kills: r.kills + r.recoveryKills}
	if r.crashes != nil {
		c := r.crashes.coverage()
		s.Deaths, s.Covered = c.Deaths, c.Points-len(c.Missed)
	}
	r.c.Progress(s)
}
