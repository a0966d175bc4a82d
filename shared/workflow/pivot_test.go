package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var happened = workflow.Outcome{Retry: workflow.RetryNever, Status: 409, Type: workflow.TypeCannotUndo, Message: "it is in the air"}

// pivotal returns a chain a → b → c, of which b is a pivot, with its first step in
// flight.
func pivotal(t *testing.T) *run {
	d := chain()
	d.Steps[1].Pivot = true
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
	r.receive(workflow.OperationStart, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
	return r.advance().want(workflow.Running, "a")
}

func (r *run) cancel(id string) *run {
	r.Helper()
	r.receive(workflow.OperationCancel, id, nil)
	return r.advance()
}

// resumed checks that the cancel was taken back: nothing but b was to be undone.
func (r *run) resumed(cancel string) *run {
	r.Helper()
	r.wantState(workflow.Running).wantCause("").wantOperation(cancel, workflow.OperationRefused)
	if reason := r.p.Operation(cancel).Reason; !strings.Contains(reason, happened.Message) {
		r.Errorf("refused for %q, want the service's text", reason)
	}
	last := r.p.History[len(r.p.History)-1]
	if last.Transition != workflow.TransitionResume || !strings.Contains(last.Reason, happened.Message) || r.p.Reason != "" {
		r.Errorf("history ends with %+v, reason %q", last, r.p.Reason)
	}
	for _, name := range []string{"a", "c"} {
		if s := r.p.Step(name); s.UndoAttempts != 0 || s.State == workflow.StepUndone {
			r.Errorf("%s is %s after %d undos", name, s.State, s.UndoAttempts)
		}
	}
	if at := r.d.NextAt(r.p, r.now); !at.Equal(r.now) {
		r.Errorf("it goes on at %s, want now", at)
	}
	return r
}

// Ensure the pivot is undone before all others, and the others in reverse order.
func TestPivotIsUndoneFirst(t *testing.T) {
	r := pivotal(t).finish(ok).finish(ok).finish(ok).want(workflow.Completed).cancel("op-2")
	if at := r.d.NextAt(r.p, r.now); !at.Equal(r.now) {
		t.Errorf("it is undone at %s, want now", at)
	}
	r.unwind().want(workflow.Compensating, "b").undone(later).want(workflow.Compensating)
	r.now = r.d.NextAt(r.p, r.now)
	r.unwind().want(workflow.Compensating, "b").undone(ok).want(workflow.Compensating, "c")
	r.undone(ok).want(workflow.Compensating, "a").undone(ok).want(workflow.Cancelled)
	r.wantOperation("op-2", workflow.OperationApplied)
}

// Ensure a cancel that comes too late is refused, and the transaction ends as it
// would have without it.
func TestCancelAfterThePivot(t *testing.T) {
	t.Run("completed", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).finish(ok).cancel("op-2").unwind().undone(happened)
		r.resumed("op-2").wantStep("b", workflow.StepSucceeded, workflow.EffectYes, 1)
		r.advance().want(workflow.Completed).wantOperation("op-1", workflow.OperationApplied)
	})
	t.Run("running", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).want(workflow.Running, "c")
		r.receive(workflow.OperationCancel, "op-2", nil)
		r.finish(later).want(workflow.Compensating).wantOperation("op-1", workflow.OperationPending)
		r.unwind().want(workflow.Compensating, "b").undone(happened).resumed("op-2")
		r.advance().want(workflow.Running, "c").finish(ok).want(workflow.Completed).wantOperation("op-1", workflow.OperationApplied)
	})
	t.Run("it is not known whether the pivot was called", func(t *testing.T) {
		r := pivotal(t).finish(ok).want(workflow.Running, "b")
		r.receive(workflow.OperationCancel, "op-2", nil)
		r.finish(later).want(workflow.Compensating).unwind().undone(happened).resumed("op-2")
		r.wantStep("b", workflow.StepPending, workflow.EffectMaybe, 0)
		r.advance().want(workflow.Running, "b").finish(ok).finish(ok).want(workflow.Completed)
	})
	t.Run("a change is on its way", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).finish(ok).reschedule("op-2", `{"b":2,"c":2}`).want(workflow.Running, "b")
		r.receive(workflow.OperationCancel, "op-3", nil)
		r.finish(later).want(workflow.Compensating).wantOperation("op-2", workflow.OperationPending)
		r.unwind().undone(happened).resumed("op-3").wantStep("b", workflow.StepPending, workflow.EffectYes, 1)
		r.advance().want(workflow.Running, "b").finish(never).wantOperation("op-2", workflow.OperationRefused)
		r.want(workflow.Running, "b").finish(ok).want(workflow.Completed)
	})
	t.Run("an unaffected pivot keeps its result", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).finish(ok).reschedule("op-2", `{"c":2}`).finish(ok).want(workflow.Completed)
		r.cancel("op-3").unwind().undone(happened).resumed("op-3").wantStep("b", workflow.StepSucceeded, workflow.EffectYes, 1)
		r.advance().want(workflow.Completed)
	})
	t.Run("what was left as it was says so again", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).finish(ok).reschedule("op-2", `{"a":2,"c":2}`).finish(ok).want(workflow.Running, "c")
		r.finish(never).want(workflow.Running, "a").finish(later)
		r.now = r.d.NextAt(r.p, r.now)
		r.advance().want(workflow.Running, "a").finish(never).want(workflow.Completed)
		left := r.p.Reason
		r.cancel("op-3").unwind().undone(happened).resumed("op-3").advance().want(workflow.Completed)
		if r.p.Reason != left || !strings.Contains(left, "a: "+never.Message) {
			t.Errorf("the reason is %q, was %q", r.p.Reason, left)
		}
		// Until what was left is called again.
		r.reschedule("op-4", `{"c":3}`).finish(ok).want(workflow.Completed)
		if r.p.Reason != left {
			t.Errorf("the reason is %q after a change of something else", r.p.Reason)
		}
		r.reschedule("op-5", `{"a":3}`).finish(ok)
		if r.want(workflow.Completed); r.p.Reason != "" {
			t.Errorf("the reason is %q, and all is as asked for", r.p.Reason)
		}
	})
	t.Run("the time limit has passed meanwhile", func(t *testing.T) {
		r := pivotal(t).finish(ok).finish(ok).want(workflow.Running, "c")
		r.receive(workflow.OperationCancel, "op-2", nil)
		r.finish(later).unwind().undone(later)
		r.now = r.p.CompleteBy.Add(time.Hour)
		r.unwind().undone(happened).resumed("op-2").advance().want(workflow.Running, "c").finish(ok).want(workflow.Completed)
	})
}

// Ensure that what comes while a cancel is undone for has an end: a second cancel
// at once, a reschedule with the first one.
func TestOperationsDuringACancel(t *testing.T) {
	cancelled := func(t *testing.T) *run {
		r := pivotal(t).finish(ok).finish(ok).finish(ok).cancel("op-2").unwind()
		r.receive(workflow.OperationReschedule, "op-3", json.RawMessage(`{"c":2}`))
		r.receive(workflow.OperationCancel, "op-4", nil)
		return r.advance().want(workflow.Compensating, "b").
			wantOperation("op-3", workflow.OperationPending).wantOperation("op-4", workflow.OperationRefused)
	}
	r := cancelled(t).undone(happened)
	r.wantOperation("op-2", workflow.OperationRefused).advance().want(workflow.Running, "c")
	r.finish(ok).want(workflow.Completed).wantOperation("op-3", workflow.OperationApplied)
	// A cancel after it has its turn, and its refusal.
	r.cancel("op-5").unwind().undone(happened).resumed("op-5").advance().want(workflow.Completed)

	r = cancelled(t).undone(ok).wantOperation("op-3", workflow.OperationPending).undone(ok).undone(ok)
	r.want(workflow.Cancelled).wantOperation("op-2", workflow.OperationApplied).wantOperation("op-3", workflow.OperationSuperseded)
}

// Ensure that what has happened is never called undone: for another cause than a
// cancel, or with something undone before, the transaction is an operator's.
func TestPivotThatCannotBeUndone(t *testing.T) {
	stuck := func(r *run) *run {
		r.Helper()
		r.want(workflow.Stuck)
		if !strings.Contains(r.p.Reason, happened.Message) {
			r.Errorf("reason %q, want the service's text", r.p.Reason)
		}
		return r
	}
	stuck(pivotal(t).finish(ok).finish(ok).finish(never).unwind().want(workflow.Compensating, "b").undone(happened)).
		wantStep("a", workflow.StepSucceeded, workflow.EffectYes, 1)

	r := pivotal(t).finish(ok).finish(ok).finish(ok)
	r.d.Steps[1].Pivot = false // as an older version has it
	r.cancel("op-2").unwind().want(workflow.Compensating, "c").undone(ok).want(workflow.Compensating, "b")
	r.d.Steps[1].Pivot = true
	stuck(r.undone(happened)).wantOperation("op-2", workflow.OperationPending)

	r = pivotal(t).finish(ok).finish(ok).finish(ok)
	other := happened
	other.Type = "conflict" // for now, or for good: it does not say that it has happened
	stuck(r.cancel("op-2").unwind().undone(other))
}

// Ensure a cancel that got stuck can still be refused when an operator has the
// undo made again.
func TestStuckCancelAfterThePivot(t *testing.T) {
	r := pivotal(t).finish(ok).finish(ok).want(workflow.Running, "c")
	r.receive(workflow.OperationCancel, "op-3", nil)
	r.finish(later).unwind().undone(never).want(workflow.Stuck)
	r.receive(workflow.OperationReschedule, "op-4", json.RawMessage(`{"c":3}`))
	r.advance().wantOperation("op-1", workflow.OperationPending).wantOperation("op-4", workflow.OperationRefused)
	if err := r.p.RetryUndo("ada", "again", r.now); err != nil {
		t.Fatal(err)
	}
	r.unwind().undone(happened).wantOperation("op-3", workflow.OperationRefused).advance().want(workflow.Running, "c")
	r.finish(ok).want(workflow.Completed).wantOperation("op-1", workflow.OperationApplied)
}

func TestPivotNeedsAnUndo(t *testing.T) {
	d := chain()
	d.Steps[1].Pivot, d.Steps[1].Undo = true, nil
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), "pivot") {
		t.Errorf("error %v", err)
	}
}
