package workflow_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// chain is a business of three steps, one after the other. The change of a
// request names the steps that it affects.
func chain() *workflow.Definition {
	step := func(name string, after ...string) workflow.Step {
		call := func(in workflow.Input) workflow.Call {
			body, _ := json.Marshal(in)
			return workflow.Call{Backend: name, Method: "PUT", Path: name, Body: body}
		}
		return workflow.Step{Name: name, After: after, Call: call, Undo: call,
			Affected: func(before, after json.RawMessage) bool {
				var a, b map[string]int
				if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
					return true
				}
				return a[name] != b[name]
			},
		}
	}
	return &workflow.Definition{Name: "chain",
		Steps: []workflow.Step{step("a"), step("b", "a"), step("c", "b")},
		Merge: func(request, change json.RawMessage) (json.RawMessage, error) {
			merged := map[string]int{}
			if err := json.Unmarshal(request, &merged); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(change, &merged); err != nil {
				return nil, err
			}
			return json.Marshal(merged)
		},
		ChangeableUntil: func(workflow.Input) time.Time { return workflowtest.Start.Add(72 * time.Hour) },
	}
}

// completedChain returns a chain that is Completed.
func completedChain(t *testing.T) *run {
	d := chain()
	r := &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
	r.receive(workflow.OperationDeliver, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
	r.advance().finish(ok).finish(ok).finish(ok)
	return r.want(workflow.Completed)
}

func (r *run) reschedule(id, body string) *run {
	r.Helper()
	r.receive(workflow.OperationReschedule, id, json.RawMessage(body))
	return r.advance()
}

func answer(result string) workflow.Outcome {
	return workflow.Outcome{Effect: workflow.EffectYes, Status: 200, Result: json.RawMessage(result)}
}

// Ensure a second reschedule does not take the steps that are being put back
// for steps that stand as they stood: b holds what op-2 asked for until it was
// put back.
func TestRescheduleWaitsForThePuttingBack(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2,"c":2}`)
	r.receive(workflow.OperationReschedule, "op-3", json.RawMessage(`{"a":3,"b":3,"c":3}`))
	r.finish(ok).finish(ok).want(workflow.Running, "c")
	r.finish(never).wantOperation("op-2", workflow.OperationRefused).wantOperation("op-3", workflow.OperationPending)
	r.want(workflow.Running, "a").finish(ok).want(workflow.Running, "b").finish(ok).want(workflow.Running, "c").finish(ok)
	// Now it is op-3's turn, and it is refused at once: b and c stand as they stood.
	r.want(workflow.Running, "a").finish(never).wantOperation("op-3", workflow.OperationRefused)
	r.wantStep("b", workflow.StepSucceeded, workflow.EffectYes, 3)
	r.finish(ok).want(workflow.Completed)
}

// Ensure a step whose call was made of the result of a step that is put back is
// put back with it.
func TestPutBackOfAResult(t *testing.T) {
	for name, tc := range map[string]struct {
		change   string
		outcomes []workflow.Outcome
		redone   []string // after the putting back of a
	}{
		"it never succeeded and comes back as it was": {`{"a":2,"b":2}`, []workflow.Outcome{never, ok}, nil},
		"it never succeeded and comes back otherwise": {`{"a":2,"b":2}`, []workflow.Outcome{never, answer(`{"x":2}`)}, []string{"b"}},
		"it differs in form only":                     {`{"a":2,"b":2}`, []workflow.Outcome{never, answer(`{ }`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := completedChain(t)
			r.reschedule("op-2", tc.change)
			for _, o := range tc.outcomes {
				r.want(workflow.Running, "a").finish(o)
			}
			if tc.redone == nil {
				r.want(workflow.Completed)
				return
			}
			r.want(workflow.Running, tc.redone...)
			r.finish(ok).want(workflow.Running, "c").finish(ok).want(workflow.Completed)
		})
	}
}

// Ensure a step is put back when one before it succeeded for the rejected
// request, even though it was not called for that itself.
func TestPutBackBehindASuccess(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2,"c":2}`).finish(answer(`{"x":2}`)).want(workflow.Running, "b")
	r.finish(never).want(workflow.Running, "a").finish(answer(`{"x":2}`)) // another than at first
	r.want(workflow.Running, "b").finish(ok).want(workflow.Running, "c").finish(ok).want(workflow.Completed)
}

// Ensure a step that no change affects is redone when its input has changed.
func TestChangedResultIsPassedOn(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2}`).want(workflow.Running, "a").finish(answer(`{"x":2}`))
	r.want(workflow.Running, "b").finish(ok).want(workflow.Running, "c").finish(ok).want(workflow.Completed)
	r.wantStep("c", workflow.StepSucceeded, workflow.EffectYes, 2).wantOperation("op-2", workflow.OperationApplied)
}

// Ensure a step waits for all that it comes after, also for those that are
// redone behind one that is not.
func TestRedoKeepsTheOrder(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"c":2}`).want(workflow.Running, "a")
	r.finish(ok).want(workflow.Running, "c").finish(ok).want(workflow.Completed)
}

// Ensure a reschedule that can't be done in time is put back: what was
// delivered is not undone for it, as long as that succeeds.
func TestRescheduleExpires(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2}`).finish(later)
	r.now = r.p.CompleteBy.Time
	r.advance().want(workflow.Running, "a").wantOperation("op-2", workflow.OperationRefused)
	if string(r.p.Request) != `{"a":1,"b":1,"c":1}` || !r.p.CompleteBy.After(r.now) {
		t.Errorf("request %s, complete by %s", r.p.Request, r.p.CompleteBy)
	}
	r.finish(later)
	r.now = r.p.CompleteBy.Time
	r.advance().want(workflow.Compensating).wantCause(workflow.CauseExpired)
}

// Ensure a reschedule of a run that has never completed does not prolong it.
func TestRescheduleDoesNotProlongTheRun(t *testing.T) {
	r := delivered(t).finish(ok, later)
	limit := r.p.CompleteBy
	r.reschedule("op-2", `{"nights":5}`)
	r.now = limit.Time
	r.advance()
	if r.p.CompleteBy != limit {
		t.Errorf("complete by %s, want %s", r.p.CompleteBy, limit)
	}
}

// Ensure an effect that this version of the definition can't undo is not
// forgotten.
func TestUndoOfAnUnknownStep(t *testing.T) {
	r := completedChain(t)
	r.d.Steps = r.d.Steps[:2] // c belongs to another version
	r.receive(workflow.OperationCancel, "op-2", nil)
	r.advance().want(workflow.Compensating).unwind()
	for r.p.State == workflow.Compensating {
		r.undone(ok)
	}
	r.want(workflow.Stuck)
	r.wantStep("a", workflow.StepUndone, workflow.EffectYes, 1).wantStep("c", workflow.StepSucceeded, workflow.EffectYes, 1)
}

// Ensure a step that has never been called is not taken for one that stands as
// it stood.
func TestPutBackOfARunThatHasNotCompleted(t *testing.T) {
	d := chain()
	r := &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
	r.receive(workflow.OperationDeliver, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
	r.advance()
	r.receive(workflow.OperationReschedule, "op-2", json.RawMessage(`{"a":2,"b":2}`))
	r.finish(ok).want(workflow.Running, "a").finish(never).wantOperation("op-2", workflow.OperationRefused)
	r.want(workflow.Running, "a").finish(ok).want(workflow.Running, "b").finish(ok).want(workflow.Running, "c")
	r.finish(ok).want(workflow.Completed)
}

// Ensure the operations of one transaction are bounded, and that neither its
// delivery nor a cancel is ever turned away for it.
func TestOperationsAreBounded(t *testing.T) {
	r := newRun(t)
	for i := range workflow.MaxOperations + 50 {
		r.receive(workflow.OperationReschedule, fmt.Sprintf("op-%04d", i+1000), nights("5"))
	}
	if n := len(r.p.Operations); n != workflow.MaxOperations {
		t.Fatalf("%d operations, want %d", n, workflow.MaxOperations)
	}
	if !r.receive(workflow.OperationDeliver, "op-1", workflowtest.TripBody()) || !r.receive(workflow.OperationCancel, "op-2", nil) {
		t.Error("the delivery or the cancel was turned away")
	}
	if r.receive(workflow.OperationCancel, "op-3", nil) {
		t.Error("a second cancel is on record")
	}
	r.advance().want(workflow.Cancelled)
}
