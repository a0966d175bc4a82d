package chaos

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Ensure that what lags behind its bound is helped, and nothing else.
func TestSteering(t *testing.T) {
	begun := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c := breaking(1500, 100*time.Second)
	c.Faults = fault.Plan{Seed: 1, Rates: map[fault.Point]float64{
		fault.AMQPDrop: 0.001, fault.AMQPSlow: 0.2, fault.HandlerKill: 10, fault.HandlerFreeze: 0, fault.HostTwoOwners: 0, fault.BackendUndoRefused: 0.03,
		fault.BackendLate: 0.01,
	}}
	burst := func(p fault.Point, scope string, at time.Duration, seconds, rate float64) fault.Burst {
		return fault.Burst{Point: p, Scope: scope, From: begun.Add(at), Seconds: seconds, Rate: rate}
	}
	under := burst(fault.HandlerFreeze, "instance 2", 55*time.Second, 17, 1)
	old := burst(fault.HandlerFreeze, "instance 2", -time.Hour, 17, 1)
	freeze := func(at time.Duration) fault.Burst { return burst(fault.HandlerFreeze, "instance 2", at, 17, 1) }
	late := burst(fault.BackendLate, "", 60*time.Second, 10, 0.25)
	for name, s := range map[string]struct {
		bound   Bound
		elapsed time.Duration
		bursts  []fault.Burst
		rates   map[fault.Point]float64 // that differ
		want    []fault.Burst
	}{
		"nothing seen, and it is early":        {Bound{Wanted: 9, point: fault.AMQPDrop}, 9 * time.Second, nil, nil, nil},
		"nothing seen":                         {Bound{Wanted: 9, point: fault.AMQPDrop}, 20 * time.Second, nil, map[fault.Point]float64{fault.AMQPDrop: 0.004}, nil},
		"seen as often as by now":              {Bound{Wanted: 9, Seen: 4, point: fault.AMQPDrop}, 20 * time.Second, nil, nil, nil},
		"seen as often as by then":             {Bound{Wanted: 9, Seen: 4, point: fault.AMQPDrop}, 60 * time.Second, nil, map[fault.Point]float64{fault.AMQPDrop: 0.004}, nil},
		"seen often enough":                    {Bound{Wanted: 9, Seen: 9, point: fault.AMQPDrop}, 99 * time.Second, nil, nil, nil},
		"not above the most":                   {Bound{Wanted: 9, point: fault.AMQPSlow}, 20 * time.Second, nil, map[fault.Point]float64{fault.AMQPSlow: 0.3}, nil},
		"an act":                               {Bound{Wanted: 9, point: fault.HandlerKill}, 20 * time.Second, nil, map[fault.Point]float64{fault.HandlerKill: 40}, nil},
		"what is refused for good":             {Bound{Wanted: 9, point: fault.BackendUndoRefused}, 20 * time.Second, nil, nil, nil},
		"what is not to be broken":             {Bound{Wanted: 9, point: fault.CosmosSlow}, 20 * time.Second, nil, nil, nil},
		"a sign by a rate":                     {Bound{Wanted: 9, sign: LeasesTaken}, 20 * time.Second, nil, map[fault.Point]float64{fault.HandlerKill: 40}, nil},
		"a sign by a burst":                    {Bound{Wanted: 9, sign: LeasesLost}, 60 * time.Second, []fault.Burst{old}, nil, []fault.Burst{freeze(60 * time.Second)}},
		"a sign, its burst is under way":       {Bound{Wanted: 9, sign: LeasesLost}, 60 * time.Second, []fault.Burst{under}, nil, []fault.Burst{under}},
		"a sign, no time for its burst":        {Bound{Wanted: 9, sign: LeasesLost}, 90 * time.Second, nil, nil, nil},
		"a sign, in the encore":                {Bound{Wanted: 9, sign: LeasesLost}, 110 * time.Second, nil, nil, []fault.Burst{freeze(110 * time.Second)}},
		"a sign, at the end of the encore":     {Bound{Wanted: 9, sign: LeasesLost}, 170 * time.Second, nil, nil, nil},
		"a sign by a rate and a burst":         {Bound{Wanted: 9, sign: LateRefused}, 60 * time.Second, nil, map[fault.Point]float64{fault.BackendLate: 0.04}, []fault.Burst{late}},
		"a sign that needs what isn't planned": {Bound{Wanted: 9, sign: Rescued}, 60 * time.Second, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := fault.Plan{Seed: 1, Rates: map[fault.Point]float64{fault.AMQPDrop: 0.1}, Bursts: s.bursts}
			got := c.steered(situation{now: begun.Add(s.elapsed), begun: begun, bounds: []Bound{s.bound}, plan: now})
			want := fault.Plan{Seed: 1, Rates: map[fault.Point]float64{}, Bursts: s.want}
			for p, rate := range c.Faults.Rates {
				want.Rates[p] = rate
			}
			for p, rate := range s.rates {
				want.Rates[p] = rate
			}
			if len(got.Bursts) == 0 {
				got.Bursts = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ensure that a lease can be lost: a frozen handler's messages come to others.
func TestAFreezeComesWithLostLocks(t *testing.T) {
	c := breaking(1500, 100*time.Second)
	begun := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	got := c.steered(situation{now: begun.Add(50 * time.Second), begun: begun, plan: c.Faults, bounds: []Bound{{Wanted: 1, sign: LeasesLost}}})
	if len(got.Bursts) != 2 || got.Bursts[0].Point != fault.HandlerFreeze || got.Bursts[1].Point != fault.ServiceBusLockLost {
		t.Errorf("bursts %+v", got.Bursts)
	}
	if s := got.Bursts[0].Scope; s != "instance 2" {
		t.Errorf("the handler of %q is frozen", s)
	}
}

// Ensure that a storm goes on when its time is up as long as something is missing
// that may come yet, and not for ever.
func TestEncore(t *testing.T) {
	c := breaking(1500, 45*time.Second)
	c.Notice = func(string) {}
	ever := seen{accepted: 1500, kills: 1, points: 40, signs: map[Sign]int{}, faults: map[fault.Point]fault.Count{}}
	for _, s := range signBounds {
		ever.signs[s.sign] = 100
	}
	for _, info := range fault.Points {
		ever.faults[info.Point] = fault.Count{Hit: 100}
	}
	ever.signs[Outside], ever.signs[Pickups], ever.signs[Lost] = 0, 0, 0 // nobody knows them before the end
	if left := missing(measure(c.bounds(40), ever)); len(left) != 0 {
		t.Errorf("missing is %+v", left)
	}
	ever.signs[LeasesLost] = 0
	left := missing(measure(c.bounds(40), ever))
	if len(left) != 1 || left[0].sign != LeasesLost {
		t.Errorf("missing is %+v", left)
	}
	for elapsed, want := range map[time.Duration]bool{44 * time.Second: false, 46 * time.Second: false, 45*time.Second + c.encoreTime(): true} {
		r := &run{c: c, begun: time.Now().Add(-elapsed), tally: newTally(), faults: newFaults(), signs: newSigns("", things.Resource), bounds: c.bounds(0)}
		if got := r.over(); got != want {
			t.Errorf("after %v it is over: %v", elapsed, got)
		}
	}
	r := &run{c: c, begun: time.Now().Add(-46 * time.Second), tally: newTally(), faults: newFaults(), signs: newSigns("", things.Resource)}
	if !r.over() {
		t.Error("nothing is missing, and it goes on")
	}
}

// Ensure that a run has each burst once, within its time, and always the same.
func TestPlannedBursts(t *testing.T) {
	start := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, duration := range []time.Duration{45 * time.Second, 210 * time.Second, 20 * time.Minute} {
		c := breaking(1500, duration)
		all := c.planBursts(start)
		if diff := cmp.Diff(all, c.planBursts(start)); diff != "" {
			t.Errorf("the same seed gives other bursts:\n%s", diff)
		}
		count := map[fault.Point]int{}
		for _, b := range all {
			count[b.Point]++
			if b.From.Before(start) || b.Until().After(start.Add(duration)) {
				t.Errorf("%v: %s from %v to %v", duration, b.Point, b.From.Sub(start), b.Until().Sub(start))
			}
		}
		wanted := map[fault.Point]int{}
		for _, r := range remedies {
			wanted[r.point]++
		}
		for p, n := range wanted {
			if count[p] != n {
				t.Errorf("%v: %d bursts of %s", duration, count[p], p)
			}
		}
		i := slices.IndexFunc(all, func(b fault.Burst) bool {
			return b.Point == fault.BackendAway && b.Scope == pivotal && b.Seconds == shortOutage.Seconds()
		})
		if i < 0 || all[i].From.Sub(start) < leadTime {
			t.Errorf("%v: no time for pickups before the drones' backend is away", duration)
		}
		if err := (fault.Plan{Bursts: all}).Validate(); err != nil {
			t.Error(err)
		}
	}
	if all := breaking(100, 4*time.Second).planBursts(start); len(all) != 0 {
		t.Errorf("a run of 4 s has %d bursts", len(all))
	}
	without := breaking(1500, 45*time.Second)
	without.Faults = fault.Plan{}
	if all := without.planBursts(start); len(all) != 0 {
		t.Errorf("a run without faults has %d bursts", len(all))
	}
	for duration, want := range map[time.Duration]time.Duration{
		45 * time.Second: 8 * time.Second, 210 * time.Second: 35 * time.Second, time.Hour: 2 * time.Minute,
	} {
		if got := outage(duration); got != want {
			t.Errorf("an outage in %v lasts %v", duration, got)
		}
	}
}
