package system

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// doer counts how often it was asked to do an act.
type doer struct {
	mu    sync.Mutex
	times int
	err   error
}

func (d *doer) do(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times++
	return d.err
}

func (d *doer) done() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.times
}

// plan sets how often acts are done in a minute.
func plan(t *testing.T, in *fault.Injector, rates map[fault.Point]float64) {
	t.Helper()
	if err := in.Set(fault.Plan{Seed: 3, Rates: rates}); err != nil {
		t.Fatal(err)
	}
}

// running starts the acts of one of so many instances, until the test ends.
func running(t *testing.T, in *fault.Injector, instances int, all doings) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var a acts
	a.start(ctx, in, instances, all, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		cancel()
		a.wait()
	})
}

func TestActsAreDoneAsOftenAsPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := fault.New()
		kill, stop, never, fails := &doer{}, &doer{}, &doer{}, &doer{err: errNotNow}
		running(t, in, 1, doings{
			fault.HandlerKill: kill.do, fault.HostStop: stop.do, fault.HostOwnership: never.do, fault.HostStopInRetry: fails.do,
		})
		<-time.After(time.Hour)
		if kill.done()+stop.done() > 0 {
			t.Fatal("acts without a plan")
		}
		plan(t, in, map[fault.Point]float64{fault.HandlerKill: 12, fault.HostStop: 1, fault.HostStopInRetry: 60})
		<-time.After(time.Hour)
		// 720 and 60 on average; the plan is looked at five times a second.
		if n := kill.done(); n < 650 || n > 730 {
			t.Errorf("%d kills in an hour, want about 720", n)
		}
		if n := stop.done(); n < 50 || n > 70 {
			t.Errorf("%d stops in an hour, want about 60", n)
		}
		if never.done() > 0 {
			t.Error("an act that isn't planned was done")
		}
		counts := in.Counts()
		if n := counts[fault.HandlerKill].Hit; n != uint64(kill.done()) {
			t.Errorf("%d kills are counted, of %d", n, kill.done())
		}
		if fails.done() == 0 || counts[fault.HostStopInRetry].Hit != 0 {
			t.Errorf("%d acts could not be done, and %d of them are counted", fails.done(), counts[fault.HostStopInRetry].Hit)
		}
		plan(t, in, nil)
		before := kill.done()
		<-time.After(time.Hour)
		if kill.done() != before {
			t.Error("acts go on after the plan's end")
		}
		// In the plan again, an act waits as long as the first time.
		plan(t, in, map[fault.Point]float64{fault.HostStop: 1})
		before = stop.done()
		<-time.After(25 * time.Second)
		if stop.done() != before {
			t.Error("an act was done as soon as it was planned")
		}
	})
}

// Ensure that instances do the acts of a plan together as often as one alone.
func TestInstancesShareTheActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kill := &doer{}
		for _, in := range []*fault.Injector{fault.New(), fault.NewInstance("instance 2"), fault.NewInstance("instance 3")} {
			plan(t, in, map[fault.Point]float64{fault.HandlerKill: 12})
			running(t, in, 3, doings{fault.HandlerKill: kill.do})
		}
		<-time.After(time.Hour)
		if n := kill.done(); n < 650 || n > 730 {
			t.Errorf("three instances killed %d times in an hour, want about 720", n)
		}
	})
}

// Ensure that an act that waits for its moment ends with its place in the plan.
func TestActsEndWithThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := fault.New()
		plan(t, in, map[fault.Point]float64{fault.HostStopInRetry: 60})
		waits, ended := make(chan struct{}), make(chan error, 1)
		running(t, in, 1, doings{fault.HostStopInRetry: func(ctx context.Context) error {
			close(waits)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}})
		<-waits
		synctest.Wait()
		plan(t, in, map[fault.Point]float64{fault.HandlerKill: 1})
		if err := <-ended; !errors.Is(err, errNoLongerPlanned) {
			t.Errorf("the act ended with %v", err)
		}
	})
}

// Ensure that nothing else is done to an instance while an act lasts: a frozen
// handler must not be killed before it goes on.
func TestNothingIsDoneBesideAnActThatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := fault.New()
		kill, frozen, waited := &doer{}, 0, make(chan error, 1)
		var a acts
		ctx, cancel := context.WithCancel(t.Context())
		defer a.wait()
		defer cancel()
		a.start(ctx, in, 1, doings{
			fault.HandlerKill: kill.do,
			fault.HostStopInRetry: func(ctx context.Context) error {
				<-ctx.Done()
				if errors.Is(context.Cause(ctx), errBeside) {
					waited <- errBeside
				}
				return ctx.Err()
			},
		}, slog.New(slog.DiscardHandler))
		a.last(ctx, "instance 1", doings{fault.HandlerFreeze: func(ctx context.Context) error {
			before := kill.done()
			<-ctx.Done()
			frozen = kill.done() - before
			return nil
		}})
		p := fault.Plan{Rates: map[fault.Point]float64{fault.HandlerKill: 60, fault.HostStopInRetry: 60}, Bursts: []fault.Burst{
			{Point: fault.HandlerFreeze, From: time.Now().Add(10 * time.Second), Seconds: 30, Rate: 1},
		}}
		if err := in.Set(p); err != nil {
			t.Fatal(err)
		}
		<-time.After(41 * time.Second)
		synctest.Wait()
		if before := kill.done(); frozen != 0 || before < 5 || len(waited) != 1 {
			t.Errorf("%d kills, %d of them of a frozen handler; %d who waited were told", before, frozen, len(waited))
		}
		<-time.After(20 * time.Second)
		if n := kill.done(); n < 15 {
			t.Errorf("%d kills after it", n)
		}
	})
}

// Ensure that an act that lasts is done once in its burst, by the instance that
// it is for, as soon as it can be, and ends with the burst or with the plan.
func TestActsThatLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := fault.New()
		tries, ended := 0, make(chan time.Time, 10)
		freeze := func(ctx context.Context) error {
			if tries++; tries == 1 {
				return errNotNow
			}
			<-ctx.Done()
			ended <- time.Now()
			return nil
		}
		other := &doer{}
		ctx, cancel := context.WithCancel(t.Context())
		var a acts
		a.start(ctx, in, 2, nil, slog.New(slog.DiscardHandler))
		a.last(ctx, "instance 1", doings{fault.HandlerFreeze: freeze})
		a.last(ctx, "instance 2", doings{fault.HandlerFreeze: other.do})
		defer a.wait()
		defer cancel()
		burst := func(seconds float64) time.Time {
			b := fault.Burst{Point: fault.HandlerFreeze, Scope: "instance 1", From: time.Now().Add(time.Second), Seconds: seconds, Rate: 1}
			if err := in.Set(fault.Plan{Bursts: []fault.Burst{b}}); err != nil {
				t.Fatal(err)
			}
			return b.Until()
		}
		until := burst(15)
		if at := <-ended; !at.Equal(until) {
			t.Errorf("it ended %v after the burst", at.Sub(until))
		}
		<-time.After(time.Minute)
		if tries != 2 || other.done() != 0 {
			t.Errorf("%d tries, %d by another instance", tries, other.done())
		}
		if c := in.Counts()[fault.HandlerFreeze]; c.Hit != 1 {
			t.Errorf("counts %+v", c)
		}
		until = burst(60)
		<-time.After(5 * time.Second)
		if err := in.Set(fault.Plan{}); err != nil {
			t.Fatal(err)
		}
		if at := <-ended; until.Sub(at) < 50*time.Second {
			t.Errorf("it goes on after the plan's end")
		}
	})
}
