package workflow_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// compensating returns a completed trip that its client has cancelled.
func compensating(t *testing.T) *run {
	r := completed(t)
	r.receive(workflow.OperationCancel, "op-2", nil)
	return r.advance().want(workflow.Compensating)
}

func TestUndoInReverse(t *testing.T) {
	r := compensating(t).unwind().want(workflow.Compensating, "payment")
	r.undone(ok).want(workflow.Compensating, "hotel", "flight")
	r.undone(ok, ok).want(workflow.Cancelled).wantOperation("op-2", workflow.OperationApplied)
	r.wantStep("hotel", workflow.StepUndone, workflow.EffectYes, 1)
}

func TestUndoSkipsWhatHasNoEffect(t *testing.T) {
	r := delivered(t).finish(ok, never).want(workflow.Compensating)
	r.unwind().want(workflow.Compensating, "hotel").undone(ok).want(workflow.Compensated)
}

func TestUndoSkipsStepsWithoutUndo(t *testing.T) {
	d := workflowtest.Trip()
	d.Steps[0].Undo = nil
	r := &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
	r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.advance().finish(ok, never).want(workflow.Rejected) // what has no undo has nothing to undo
}

// Ensure the order holds across a step that needs no undo itself.
func TestUndoOrderAcrossSteps(t *testing.T) {
	call := func(workflow.Input) workflow.Call { return workflow.Call{} }
	d := &workflow.Definition{Steps: []workflow.Step{
		{Name: "a", Call: call, Undo: call}, {Name: "b", After: []string{"a"}, Call: call},
		{Name: "c", After: []string{"b"}, Call: call, Undo: call},
	}}
	p := d.New("t", workflowtest.Start, limits)
	for i := range p.Steps {
		p.Steps[i].State, p.Steps[i].Effect, p.Steps[i].Revision = workflow.StepSucceeded, workflow.EffectYes, 1
	}
	p.State = workflow.Running
	if err := p.Compensate(workflow.CauseFailed, "no", workflowtest.Start); err != nil {
		t.Fatal(err)
	}
	r := &run{T: t, d: d, p: p, now: workflowtest.Start}
	r.unwind().want(workflow.Compensating, "c").undone(ok).want(workflow.Compensating, "a").undone(ok).want(workflow.Compensated)
}

func TestUndoRefused(t *testing.T) {
	r := compensating(t).unwind().undone(never).wantState(workflow.Stuck)
	if r.p.Reason == "" || !r.p.WakeAt.IsZero() || r.p.TTL != 0 {
		t.Errorf("Stuck with reason %q, wake %s, TTL %d", r.p.Reason, r.p.WakeAt, r.p.TTL)
	}
	if err := r.p.RetryUndo("ada", "again", r.now); err != nil {
		t.Fatal(err)
	}
	r.unwind().want(workflow.Compensating, "payment").undone(ok).undone(ok, ok).want(workflow.Cancelled)
}

func TestUndoPutOffTooOften(t *testing.T) {
	r := compensating(t).unwind()
	var waits []time.Duration
	for range limits.UndoAttempts - 1 {
		r.undone(later).want(workflow.Compensating)
		next := r.d.NextAt(r.p, r.now)
		waits = append(waits, next.Sub(r.now))
		r.now = next
		r.unwind().want(workflow.Compensating, "payment")
	}
	if want := []time.Duration{5 * time.Second, 10 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	r.undone(later)
	if r.p.State != workflow.Stuck {
		t.Errorf("state %s, want Stuck", r.p.State)
	}
}

func TestUndoOneWaitsOneGoesOn(t *testing.T) {
	r := compensating(t).unwind().undone(ok).want(workflow.Compensating, "hotel", "flight")
	r.undone(ok, later).want(workflow.Compensating)
	r.wantStep("hotel", workflow.StepUndone, workflow.EffectYes, 1)
	r.now = r.d.NextAt(r.p, r.now)
	r.unwind().want(workflow.Compensating, "flight").undone(ok).want(workflow.Cancelled)
}

func TestUndoWithoutTime(t *testing.T) {
	r := compensating(t).unwind()
	if err := r.d.RecordUndo(r.p, []workflow.Finished{{Step: "payment"}}, backoff, limits, r.now); err != nil {
		t.Fatal(err)
	}
	turn := r.turn()
	turn.Start = false
	if err := r.d.Unwind(r.p, turn); err != nil {
		t.Fatal(err)
	}
	r.want(workflow.Compensating)
	if s := r.p.Step("payment"); s.UndoAttempts != 0 || s.UndoLaters != 0 {
		t.Errorf("undo attempts %d, laters %d, want 0", s.UndoAttempts, s.UndoLaters)
	}
	if next := r.d.NextAt(r.p, r.now); !next.Equal(r.now) {
		t.Errorf("next look at %s, want now", next)
	}
}

// Ensure an operator's retry of a transaction that got stuck while it ran goes on
// with what was started, and with what was asked for.
func TestStuckWhileRunning(t *testing.T) {
	r := delivered(t)
	r.receive(workflow.OperationReschedule, "op-2", nights("5"))
	r.p.Abandoned()
	if err := r.p.Stick("dead letters", r.now, limits); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(2 * limits.CompleteBy)
	if err := r.p.RetryRun("ada", "again", r.now, limits.CompleteBy); err != nil {
		t.Fatal(err)
	}
	r.advance().want(workflow.Running, "hotel", "flight").finish(ok, ok).want(workflow.Running, "payment").finish(ok).want(workflow.Completed)
	r.wantOperation("op-1", workflow.OperationApplied).wantOperation("op-2", workflow.OperationApplied)
}
