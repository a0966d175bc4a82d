package workflow_test

import (
	"encoding/json"
	"strings"
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
	r.receive(workflow.OperationStart, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
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
// delivered is not undone for it, however long that takes.
func TestRescheduleExpires(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2}`).finish(later)
	r.now = r.p.CompleteBy.Time
	r.advance().want(workflow.Running, "a").wantOperation("op-2", workflow.OperationRefused)
	if string(r.p.Request) != `{"a":1,"b":1,"c":1}` || !r.p.CompleteBy.After(r.now) {
		t.Errorf("request %s, complete by %s", r.p.Request, r.p.CompleteBy)
	}
	for range 3 {
		r.finish(later)
		limit := r.p.CompleteBy
		r.now = limit.Time
		r.advance().want(workflow.Running, "a").wantCause("")
		if last := r.p.History[len(r.p.History)-1]; last.Transition != workflow.TransitionExtend || last.Reason == "" || !r.p.CompleteBy.After(r.now) {
			t.Errorf("%+v, complete by %s; want more time", last, r.p.CompleteBy)
		}
	}
	r.finish(ok).want(workflow.Completed)
}

// Ensure a putting back that a service refuses undoes nothing: what was
// completed stays so, with the results that it had, and the refusal can be seen.
func TestPutBackIsRefused(t *testing.T) {
	r := completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2,"c":2}`).finish(answer(`{"x":2}`)).want(workflow.Running, "b")
	r.receive(workflow.OperationReschedule, "op-3", json.RawMessage(`{"c":3}`))
	r.finish(never).wantOperation("op-2", workflow.OperationRefused).want(workflow.Running, "a")
	r.finish(never) // op-3 has waited for the end of the putting back
	r.want(workflow.Running, "c").finish(ok).want(workflow.Completed).wantOperation("op-3", workflow.OperationApplied)

	r = completedChain(t)
	r.reschedule("op-2", `{"a":2,"b":2,"c":2}`).finish(answer(`{"x":2}`)).finish(never)
	r.finish(never).want(workflow.Completed).wantOperation("op-2", workflow.OperationRefused).wantCause("")
	if !strings.Contains(r.p.Reason, never.Message) || r.p.Step("a").Error == nil || string(r.p.Request) != `{"a":1,"b":1,"c":1}` {
		t.Errorf("reason %q, error %v, request %s", r.p.Reason, r.p.Step("a").Error, r.p.Request)
	}
	if last := r.p.History[len(r.p.History)-1]; last.Transition != workflow.TransitionComplete || last.Reason != r.p.Reason {
		t.Errorf("the history ends with %+v", last)
	}
	r.wantStep("a", workflow.StepSucceeded, workflow.EffectYes, 2).wantStep("b", workflow.StepSucceeded, workflow.EffectYes, 1)
	if string(r.p.Step("a").Result) != `{"x":2}` || r.p.TTL == 0 {
		t.Errorf("result %s, TTL %d", r.p.Step("a").Result, r.p.TTL)
	}
	// The next change is made as usual, and its end is a clean one.
	r.reschedule("op-3", `{"a":3}`).want(workflow.Running, "a").finish(answer(`{"x":2}`)).want(workflow.Completed)
	if r.p.Reason != "" || r.p.Step("a").Error != nil {
		t.Errorf("reason %q, error %v", r.p.Reason, r.p.Step("a").Error)
	}
}

// Ensure a run that has never completed is undone when its putting back is
// refused.
func TestPutBackIsRefusedBeforeCompletion(t *testing.T) {
	d := chain()
	r := &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
	r.receive(workflow.OperationStart, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
	r.advance().finish(ok).want(workflow.Running, "b")
	r.receive(workflow.OperationReschedule, "op-2", json.RawMessage(`{"b":2}`))
	r.finish(ok).finish(never).want(workflow.Running, "b").finish(never).want(workflow.Compensating).wantCause(workflow.CauseFailed)
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
	r.receive(workflow.OperationStart, "op-1", json.RawMessage(`{"a":1,"b":1,"c":1}`))
	r.advance()
	r.receive(workflow.OperationReschedule, "op-2", json.RawMessage(`{"a":2,"b":2}`))
	r.finish(ok).want(workflow.Running, "a").finish(never).wantOperation("op-2", workflow.OperationRefused)
	r.want(workflow.Running, "a").finish(ok).want(workflow.Running, "b").finish(ok).want(workflow.Running, "c")
	r.finish(ok).want(workflow.Completed)
}
