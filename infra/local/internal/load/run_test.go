package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// within reports whether a latency is what is wanted, to the histogram's three
// digits.
func within(got, want time.Duration) bool {
	return (got - want).Abs() <= want/500+2*time.Microsecond
}

// Ensure that an app that hangs makes the latency of all requests that were due
// meanwhile, not of the one that it hung for alone.
func TestLatencyCountsFromTheMomentThatWasPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(hangs) })
		r := Run(t.Context(), Config{
			Shape: Shape{{100, 100, 4 * time.Second}},
			// The first request hangs, and so do those that find no place beside it.
			InFlight: 1,
			Send: func(context.Context, int) Answer {
				<-hangs
				return Answer{ID: "t"}
			},
		})
		if r.Offered != 400 || r.Accepted != 400 {
			t.Fatalf("%+v", r)
		}
		// Half of all were due while it hung, evenly spread over its 2 s.
		for name, c := range map[string]struct{ got, want time.Duration }{
			"p90": {r.Latency.P90, 1600 * time.Millisecond}, "max": {r.Latency.Max, 2 * time.Second},
			"late": {r.Late.Max, 1990 * time.Millisecond},
		} {
			if (c.got - c.want).Abs() > 20*time.Millisecond {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
			}
		}
		if p := r.Points[0]; p.Offered != 100 || !within(p.Latency.Max, 2*time.Second) {
			t.Errorf("the first second: %+v", p)
		}
		if p := r.Points[3]; p.Latency.Max > time.Millisecond {
			t.Errorf("the last second: %+v", p)
		}
	})
}

// Ensure that requests don't wait for each other, and are counted as what they
// became.
func TestLoopIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int64
		began := time.Now()
		r := Run(t.Context(), Config{
			Shape: Shape{{10, 10, time.Second}, {0, 0, time.Second}, {20, 20, time.Second}}, KeepIDs: true,
			Send: func(_ context.Context, n int) Answer {
				most.Store(max(most.Load(), open.Add(1)))
				defer open.Add(-1)
				time.Sleep(1500 * time.Millisecond)
				switch {
				case n%10 == 3:
					return Answer{Outcome: Refused}
				case n%10 == 7:
					return Answer{Outcome: Failed, Err: errors.New("cut")}
				}
				return Answer{ID: "t"}
			},
		})
		if most.Load() != 20 || r.Late.Max > time.Millisecond {
			t.Errorf("%d were open at once, want 20; sent late by up to %v", most.Load(), r.Late.Max)
		}
		if r.Offered != 30 || r.Accepted != 24 || r.Refused != 3 || r.Failed != 3 || r.Failure != "cut" || len(r.IDs) != 24 {
			t.Errorf("%+v", r)
		}
		for name, got := range map[string]time.Duration{"accepted": r.Latency.P50, "refused": r.Refusal.Max} {
			if !within(got, 1500*time.Millisecond) {
				t.Errorf("%s: %v", name, got)
			}
		}
		if took := time.Since(began); r.Took != took || (took-4450*time.Millisecond).Abs() > time.Millisecond {
			t.Errorf("took %v, passed %v", r.Took, took)
		}
		var offered []int
		for _, p := range r.Points {
			offered = append(offered, p.Offered)
		}
		if !slices.Equal(offered, []int{10, 0, 20, 0}) {
			t.Errorf("offered in each second: %v", offered)
		}
	})
}

// Ensure that the seconds after the last answer are told of until all is at rest,
// or it takes too long.
func TestRunGoesOnUntilItRests(t *testing.T) {
	for name, c := range map[string]struct {
		rested func(State) bool
		want   int
	}{"rests": {func(s State) bool { return s.Counts.Ended == 4 }, 4}, "never": {nil, 11}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				var told []Point
				r := Run(t.Context(), Config{
					Shape: Shape{{10, 10, time.Second}}, After: 10 * time.Second, Rested: c.rested,
					Send: func(context.Context, int) Answer { return Answer{} },
					State: func(context.Context) State {
						looks++
						return State{Known: true, Counts: Counts{Accepted: 10, Ended: float64(looks)}}
					},
					Progress: func(p Point) { told = append(told, p) },
				})
				if len(r.Points) != c.want || len(told) != c.want || r.Points[c.want-1].State.Counts.Backlog() != 10-c.want {
					t.Errorf("%d seconds, %d told: %+v", len(r.Points), len(told), r.Points)
				}
			})
		})
	}
}

func TestRunEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1450*time.Millisecond)
		defer cancel()
		r := Run(ctx, Config{
			Shape: Shape{{10, 10, time.Hour}}, After: time.Hour,
			Send: func(context.Context, int) Answer { return Answer{} },
		})
		if r.Offered != 15 || r.Accepted != 15 {
			t.Errorf("%+v", r)
		}
	})
}

func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send := func(context.Context, int) Answer {
			time.Sleep(10 * time.Millisecond)
			return Answer{}
		}
		r := Full(t.Context(), 8, 0, time.Second, send)
		if r.Accepted != 800 || r.Took != time.Second || !within(r.Latency.Max, 10*time.Millisecond) {
			t.Errorf("for a second: %+v", r)
		}
		r = Full(t.Context(), 8, 100, time.Hour, send)
		if r.Accepted != 100 || r.Took != 130*time.Millisecond {
			t.Errorf("a hundred: %+v", r)
		}
	})
}

// Ensure that a long run doesn't keep a distribution for each of its seconds.
func TestOldSecondsAreSummedUp(t *testing.T) {
	r := newRecord(false)
	for n := range settled + 3 {
		at := time.Duration(n) * time.Second
		r.sent(at, 0)
		r.count(at, time.Duration(n+1)*time.Millisecond, Answer{})
		r.ended(n, State{})
	}
	kept := 0
	for _, s := range r.seconds {
		if s.latency != nil {
			kept++
		}
	}
	if kept != settled {
		t.Errorf("%d distributions are kept, want %d", kept, settled)
	}
	for n, p := range r.result().Points {
		if !within(p.Latency.P50, time.Duration(n+1)*time.Millisecond) {
			t.Errorf("second %d: %v", n, p.Latency.P50)
		}
	}
}
