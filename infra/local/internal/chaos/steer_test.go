package chaos

import (
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
		fault.AMQPDrop: 0.001, fault.AMQPSlow: 0.2, fault.HandlerKill: 10, fault.HandlerFreeze: 0, fault.EventHubsAway: 0, fault.BackendUndoRefused: 0.03,
	}}
	under := fault.Burst{Point: fault.EventHubsAway, From: begun.Add(55 * time.Second), Seconds: 20, Rate: 1}
	old := fault.Burst{Point: fault.EventHubsAway, From: begun.Add(-time.Hour), Seconds: 20, Rate: 1}
	outage := fault.Burst{Point: fault.EventHubsAway, From: begun.Add(60 * time.Second), Seconds: 16.666666666, Rate: 1}
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
		"a sign by a burst":                    {Bound{Wanted: 9, sign: Unacknowledged}, 60 * time.Second, []fault.Burst{old}, nil, []fault.Burst{outage}},
		"a sign, its burst is under way":       {Bound{Wanted: 9, sign: Unacknowledged}, 60 * time.Second, []fault.Burst{under}, nil, []fault.Burst{under}},
		"a sign, no time for its burst":        {Bound{Wanted: 9, sign: Unacknowledged}, 90 * time.Second, nil, nil, nil},
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
	if s := got.Bursts[0].Scope; s != "instance 1" && s != "instance 2" {
		t.Errorf("the handler of %q is frozen", s)
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
		for _, r := range remedies {
			if count[r.point] != 1 {
				t.Errorf("%v: %d bursts of %s", duration, count[r.point], r.point)
			}
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
