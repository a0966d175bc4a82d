package workflow_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func nights(n string) json.RawMessage { return json.RawMessage(`{"nights":` + n + `}`) }

// inState returns a trip in that state, with effects unless the state says
// otherwise.
func inState(t *testing.T, state workflow.State) *run {
	r := newRun(t)
	switch state {
	case workflow.Accepted:
		r.receive(workflow.OperationReschedule, "op-0", nights("9"))
		return r.advance().want(workflow.Accepted)
	case workflow.Running:
		return delivered(t).finish(ok, later)
	case workflow.Completed:
		return completed(t)
	case workflow.Rejected:
		return delivered(t).finish(never, never)
	case workflow.Cancelled:
		r.receive(workflow.OperationCancel, "op-0", nil)
		return r.advance().want(workflow.Cancelled)
	}
	r = delivered(t).finish(ok, never).want(workflow.Compensating)
	switch state {
	case workflow.Compensated:
		r.unwind().undone(ok)
	case workflow.Stuck, workflow.GivenUp:
		r.unwind().undone(never)
		if state == workflow.GivenUp {
			if err := r.p.GiveUp("ada", "by hand", r.now, limits); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r.want(state)
}

func TestCancelInEveryState(t *testing.T) {
	for state, tc := range map[workflow.State]struct {
		to workflow.State
		op workflow.OperationState
	}{
		workflow.Accepted:     {workflow.Cancelled, workflow.OperationApplied},
		workflow.Running:      {workflow.Compensating, workflow.OperationPending},
		workflow.Completed:    {workflow.Compensating, workflow.OperationPending},
		workflow.Rejected:     {workflow.Rejected, workflow.OperationRefused},
		workflow.Compensating: {workflow.Compensating, workflow.OperationRefused},
		workflow.Compensated:  {workflow.Compensated, workflow.OperationRefused},
		workflow.Cancelled:    {workflow.Cancelled, workflow.OperationRefused},
		workflow.Stuck:        {workflow.Stuck, workflow.OperationRefused},
		workflow.GivenUp:      {workflow.GivenUp, workflow.OperationRefused},
	} {
		t.Run(string(state), func(t *testing.T) {
			r := inState(t, state)
			if !r.receive(workflow.OperationCancel, "op-9", nil) {
				t.Fatal("the cancel is not new")
			}
			r.advance().want(tc.to).wantOperation("op-9", tc.op)
			if tc.op == workflow.OperationPending {
				r.wantCause(workflow.CauseCancelled)
				r.cancelled()
				r.wantOperation("op-9", workflow.OperationApplied)
			}
			if r.receive(workflow.OperationCancel, "op-9", nil) {
				t.Error("a repeat is new")
			}
		})
	}
}

// cancelled undoes everything.
func (r *run) cancelled() {
	r.Helper()
	for range 5 {
		r.unwind()
		if r.p.State != workflow.Compensating {
			break
		}
		var all []workflow.Outcome
		for range r.d.InFlight(r.p) {
			all = append(all, ok)
		}
		r.undone(all...)
	}
	r.want(workflow.Cancelled)
}

func TestCancelWithoutEffects(t *testing.T) {
	r := delivered(t).finish(busy, busy)
	r.receive(workflow.OperationCancel, "op-2", nil)
	r.advance().want(workflow.Cancelled)
	r.wantOperation("op-2", workflow.OperationApplied).wantOperation("op-1", workflow.OperationSuperseded)
}

func TestCancelAndRescheduleAfterPickup(t *testing.T) {
	for _, kind := range []workflow.OperationKind{workflow.OperationCancel, workflow.OperationReschedule} {
		r := completed(t)
		r.now = workflowtest.Start.Add(48 * time.Hour)
		r.receive(kind, "op-2", nights("4"))
		r.advance().want(workflow.Completed).wantOperation("op-2", workflow.OperationRefused)
	}
}

// Ensure a document is there as long as its client may change what it is about.
func TestCompletedLivesUntilItCanNoLongerBeChanged(t *testing.T) {
	for departs, want := range map[time.Time]time.Duration{
		workflowtest.Start.Add(48 * time.Hour): ttl + 48*time.Hour,
		workflowtest.Start.Add(-time.Hour):     ttl,
		workflowtest.Start.AddDate(290, 0, 0):  ttl + math.MaxInt32*time.Second/2,
	} {
		r := newRun(t)
		r.d.ChangeableUntil = func(workflow.Input) time.Time { return departs }
		r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
		r.advance()
		r.finish(ok, ok)
		r.finish(ok)
		r.want(workflow.Completed)
		if got := time.Duration(r.p.TTL) * time.Second; got != want.Truncate(time.Second) {
			t.Errorf("departs %s: lives for %s, want %s", departs, got, want)
		}
	}
}

func TestTombstone(t *testing.T) {
	r := newRun(t)
	r.receive(workflow.OperationCancel, "op-2", nil)
	r.advance().want(workflow.Cancelled).wantOperation("op-2", workflow.OperationApplied)
	if r.p.TTL == 0 {
		t.Error("the tombstone would stay for ever")
	}
	r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.advance().want(workflow.Cancelled).wantOperation("op-1", workflow.OperationRefused)
	if r.p.Operations[0].Kind != workflow.OperationStart {
		t.Error("the delivery is not the first of the operations")
	}
}

func TestRescheduleOfCompleted(t *testing.T) {
	r := completed(t)
	r.now = r.now.Add(30 * time.Hour)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	// The flight is not affected by the nights; the payment waits for the hotel.
	r.advance().want(workflow.Running, "hotel")
	if r.p.Revision != 2 || r.p.CompleteBy.Before(r.now) || r.p.TTL != 0 {
		t.Errorf("revision %d, complete by %s, TTL %d", r.p.Revision, r.p.CompleteBy, r.p.TTL)
	}
	r.finish(ok).want(workflow.Running, "payment").finish(ok).want(workflow.Completed)
	r.wantOperation("op-2", workflow.OperationApplied).wantStep("flight", workflow.StepSucceeded, workflow.EffectYes, 1)
	r.wantStep("hotel", workflow.StepSucceeded, workflow.EffectYes, 2)
	if r.p.Previous != nil || r.p.Operation("op-2").Change != nil {
		t.Error("what is done with is kept")
	}
}

func TestRescheduleWhileRunning(t *testing.T) {
	r := delivered(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5")) // a wish beside the runner
	r.finish(ok, ok).want(workflow.Running, "hotel")
	r.finish(ok).want(workflow.Running, "payment").finish(ok).want(workflow.Completed)
	r.wantOperation("op-1", workflow.OperationApplied).wantOperation("op-2", workflow.OperationApplied)
}

func TestReschedulePutBack(t *testing.T) {
	r := completed(t)
	before := string(r.p.Request)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance().want(workflow.Running, "hotel")
	// The hotel has no room: the payment was not touched and is not called.
	r.finish(never).want(workflow.Running, "hotel").wantOperation("op-2", workflow.OperationRefused)
	r.wantStep("payment", workflow.StepSucceeded, workflow.EffectYes, 1)
	if r.p.Revision != 3 || string(r.p.Request) != before {
		t.Errorf("revision %d with request %s, want 3 with %s", r.p.Revision, r.p.Request, before)
	}
	r.finish(ok).want(workflow.Completed).wantStep("hotel", workflow.StepSucceeded, workflow.EffectYes, 3)
}

// Ensure every step that was called for the rejected request is called again.
func TestReschedulePutBackLate(t *testing.T) {
	r := completed(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance().finish(ok).want(workflow.Running, "payment")
	r.finish(never).want(workflow.Running, "hotel").finish(ok).want(workflow.Running, "payment")
	r.finish(ok).want(workflow.Completed).wantOperation("op-2", workflow.OperationRefused)
}

func TestReschedulePutBackRejected(t *testing.T) {
	r := completed(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance().finish(never).want(workflow.Running, "hotel")
	r.finish(never).want(workflow.Completed).wantCause("")
	r.wantOperation("op-2", workflow.OperationRefused).wantOperation("op-1", workflow.OperationApplied)
}

func TestRescheduleThatChangesNothing(t *testing.T) {
	r := completed(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("3"))
	r.advance().want(workflow.Completed).wantOperation("op-2", workflow.OperationApplied)
}

func TestRescheduleRefusedByTheBusiness(t *testing.T) {
	r := completed(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("-1"))
	r.advance().want(workflow.Completed).wantOperation("op-2", workflow.OperationRefused)
	r.d.Merge = func(json.RawMessage, json.RawMessage) (json.RawMessage, error) { return nil, errNoMerge }
	r.receive(workflow.OperationReschedule, "op-3", nights("4"))
	r.advance().wantOperation("op-3", workflow.OperationRefused)
	if reason := r.p.Operation("op-3").Reason; reason != errNoMerge.Error() {
		t.Errorf("reason %q, want the business's", reason)
	}
}

func TestRescheduleBeforeItsDelivery(t *testing.T) {
	r := newRun(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance().want(workflow.Accepted).wantOperation("op-2", workflow.OperationPending)
	if next := r.d.NextAt(r.p, r.now); !next.Equal(r.p.CompleteBy.Time) {
		t.Errorf("next look at %s, want %s", next, r.p.CompleteBy)
	}
	r.now = r.now.Add(time.Hour)
	r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.advance().want(workflow.Running, "hotel", "flight")
	if want := r.now.Add(limits.CompleteBy); !r.p.CompleteBy.Equal(want) {
		t.Errorf("complete by %s, want %s", r.p.CompleteBy, want)
	}
	r.finish(ok, ok).finish(ok).want(workflow.Completed)
	r.wantStep("hotel", workflow.StepSucceeded, workflow.EffectYes, 2).wantOperation("op-2", workflow.OperationApplied)
}

func TestRescheduleWhoseDeliveryNeverComes(t *testing.T) {
	r := newRun(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance()
	r.now = r.p.CompleteBy.Time
	r.advance().want(workflow.Rejected).wantCause(workflow.CauseExpired).wantOperation("op-2", workflow.OperationRefused)
}

func TestReschedulesInTheOrderOfTheirIDs(t *testing.T) {
	r := delivered(t)
	r.receive(workflow.OperationReschedule, "op-4", nights("6"))
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.finish(ok, ok).want(workflow.Running, "hotel")
	if first, second := r.p.Operation("op-2"), r.p.Operation("op-4"); first.Revision != 2 || second.Revision != 0 {
		t.Errorf("taken up at revisions %d and %d, want op-2 first", first.Revision, second.Revision)
	}
	r.finish(ok).finish(ok).want(workflow.Running, "hotel")
	r.finish(ok).finish(ok).want(workflow.Completed)
	r.wantOperation("op-2", workflow.OperationApplied).wantOperation("op-4", workflow.OperationApplied)
	r.receive(workflow.OperationReschedule, "op-3", nights("1"))
	r.advance().want(workflow.Completed).wantOperation("op-3", workflow.OperationSuperseded)
}

func TestCancelSupersedesReschedules(t *testing.T) {
	r := completed(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance().want(workflow.Running, "hotel")
	r.receive(workflow.OperationReschedule, "op-3", nights("6"))
	r.receive(workflow.OperationCancel, "op-4", nil)
	r.finish(ok).want(workflow.Compensating)
	// The cancel may still be refused: they wait for its end.
	r.wantOperation("op-2", workflow.OperationPending).wantOperation("op-3", workflow.OperationPending)
	r.wantOperation("op-1", workflow.OperationApplied).wantOperation("op-4", workflow.OperationPending)
	r.cancelled()
	r.wantOperation("op-2", workflow.OperationSuperseded).wantOperation("op-3", workflow.OperationSuperseded)
}

func TestSecondDeliveryIsRefused(t *testing.T) {
	r := delivered(t)
	r.receive(workflow.OperationStart, "op-7", nights("1"))
	r.wantOperation("op-7", workflow.OperationRefused)
	r.finish(ok, ok).finish(ok).want(workflow.Completed).wantOperation("op-1", workflow.OperationApplied)
}

func TestServing(t *testing.T) {
	r := delivered(t)
	serving := func(want string) {
		t.Helper()
		if got := r.p.Serving(); got != want {
			t.Errorf("serving %s, want %s", got, want)
		}
	}
	serving("op-1")
	r.finish(ok, ok).finish(ok)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.advance()
	serving("op-2")
	r.receive(workflow.OperationCancel, "op-3", nil)
	r.finish(ok)
	serving("op-3")
}
