package workflow_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure an undo that is not sent at all waits without an end, since nobody
// knows what the service would have said, and that only its failures at the
// service count.
func TestUndoThatIsNotSent(t *testing.T) {
	r := compensating(t).unwind()
	wait := func(o workflow.Outcome, laters int) {
		t.Helper()
		r.undone(o).want(workflow.Compensating)
		if s := r.p.Step("payment"); s.UndoLaters != laters || s.UndoError == nil {
			t.Errorf("put off %d times with error %v, want %d", s.UndoLaters, s.UndoError, laters)
		}
		next := r.d.NextAt(r.p, r.now)
		if !next.After(r.now) {
			t.Fatalf("next look at %s, now it is %s", next, r.now)
		}
		r.now = next
		r.unwind().want(workflow.Compensating, "payment")
	}
	for range 100 * limits.UndoAttempts {
		wait(busy, 0)
	}
	for n := range limits.UndoAttempts - 1 {
		wait(later, n+1)
		wait(busy, n+1)
	}
	r.undone(later).wantState(workflow.Stuck)
}

// Ensure that what counts is whether any attempt in place was sent, not only
// the last one, and that an answer counts although it had no effect.
func TestWhichUndoCounts(t *testing.T) {
	throttled := workflow.Outcome{Retry: workflow.RetryLater, Status: 429, Message: "too many requests"}
	for name, tc := range map[string]struct {
		outcomes []workflow.Outcome
		laters   int
	}{
		"not sent":            {[]workflow.Outcome{busy, busy}, 0},
		"sent":                {[]workflow.Outcome{later}, 1},
		"sent, then not sent": {[]workflow.Outcome{later, busy}, 1},
		"not sent, then sent": {[]workflow.Outcome{busy, later}, 1},
		"throttled":           {[]workflow.Outcome{throttled}, 1},
		"no time to call":     {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := compensating(t).unwind()
			f := workflow.Finished{Step: "payment"}
			for _, o := range tc.outcomes {
				f.Add(o)
			}
			if err := r.d.RecordUndo(r.p, []workflow.Finished{f}, backoff, limits, r.now); err != nil {
				t.Fatal(err)
			}
			if s := r.p.Step("payment"); s.UndoLaters != tc.laters {
				t.Errorf("counted %d times, want %d", s.UndoLaters, tc.laters)
			}
		})
	}
}

// Ensure that a service that asks for a short wait can't use up the wakes in a
// short time, and that one that asks for a long one gets it.
func TestUndoWaitsGrow(t *testing.T) {
	for name, tc := range map[string]struct {
		asked time.Duration
		want  []time.Duration
	}{
		"not asked":   {0, []time.Duration{5 * time.Second, 10 * time.Second}},
		"a short one": {time.Second, []time.Duration{5 * time.Second, 10 * time.Second}},
		"a long one":  {time.Minute, []time.Duration{time.Minute, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			r := compensating(t).unwind()
			o := later
			o.RetryAfter = tc.asked
			var waits []time.Duration
			for range tc.want {
				r.undone(o).want(workflow.Compensating)
				next := r.d.NextAt(r.p, r.now)
				waits = append(waits, next.Sub(r.now))
				r.now = next
				r.unwind()
			}
			if !slices.Equal(waits, tc.want) {
				t.Errorf("waits %v, want %v", waits, tc.want)
			}
		})
	}
}

// Ensure a refused undo is an operator's at once.
func TestRefusedUndoDoesNotWait(t *testing.T) {
	r := compensating(t).unwind().undone(busy)
	r.now = r.d.NextAt(r.p, r.now)
	r.unwind().undone(never).wantState(workflow.Stuck)
}
