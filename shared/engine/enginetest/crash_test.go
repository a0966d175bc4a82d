package enginetest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// scenario is one transaction's whole life; its effects are the places where a
// process can die.
type scenario struct {
	name  string
	begin func(w *enginetest.World)
	final []workflow.State // what it may end in, whatever dies
}

// scenarios post all their operations at once or let the first settle before
// the next, and answer some calls with a refusal.
var scenarios = []scenario{
	{
		name:  "all goes well",
		begin: func(w *enginetest.World) { w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()) },
		final: []workflow.State{workflow.Completed},
	},
	{
		name: "the last service refuses",
		begin: func(w *enginetest.World) {
			refuse(w, "PUT payments/t", 402)
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		},
		final: []workflow.State{workflow.Compensated},
	},
	{
		name: "both first services refuse",
		begin: func(w *enginetest.World) {
			refuse(w, "PUT hotels/t", 404)
			refuse(w, "PUT flights/t", 404)
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		},
		final: []workflow.State{workflow.Rejected, workflow.Compensated},
	},
	{
		name: "cancelled when completed",
		begin: func(w *enginetest.World) {
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
			settleFirst(w)
			w.Post(workflow.OperationCancel, "t", "op-2", nil)
		},
		final: []workflow.State{workflow.Cancelled},
	},
	{
		name: "cancelled at once",
		begin: func(w *enginetest.World) {
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
			w.Post(workflow.OperationCancel, "t", "op-2", nil)
		},
		final: []workflow.State{workflow.Cancelled},
	},
	{
		name: "rescheduled when completed",
		begin: func(w *enginetest.World) {
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
			settleFirst(w)
			w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
		},
		final: []workflow.State{workflow.Completed},
	},
	{
		name: "a reschedule is put back",
		begin: func(w *enginetest.World) {
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
			settleFirst(w)
			w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
				if req.Call.Path == "payments/t" && strings.Contains(string(req.Call.Body), `"nights":5`) {
					return new(enginetest.Refused(402, "too much"))
				}
				return nil
			}
			w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
		},
		final: []workflow.State{workflow.Completed},
	},
	{
		name: "everything at once",
		begin: func(w *enginetest.World) {
			w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
			w.Post(workflow.OperationReschedule, "t", "op-3", []byte(`{"nights":6}`))
			w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		},
		final: []workflow.State{workflow.Completed},
	},
}

func refuse(w *enginetest.World, call string, status int) {
	before := w.Backends.OnCall
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Method+" "+req.Call.Path == call {
			return new(enginetest.Refused(status, "no"))
		}
		if before != nil {
			return before(req)
		}
		return nil
	}
}

// settleFirst lets the transaction complete without any fate.
func settleFirst(w *enginetest.World) {
	decide := w.Gate.Decide
	w.Gate.Decide = nil
	w.Settle()
	w.Gate.Decide = decide
}

// ways are the two ways of saving: as seldom as can be, and after each stage.
var ways = map[string]func(*engine.Config){
	"two writes": nil,
	"each stage": func(c *engine.Config) { c.Budgets.SaveEvery = 0 },
}

// TestCrashAtEveryEffect lets the process die at each effect of each scenario,
// once just before the effect and once just after it. Messages then come again,
// Sweep runs, and the transaction must end as it should with every effect there
// once, or not at all.
func TestCrashAtEveryEffect(t *testing.T) {
	for _, sc := range scenarios {
		for name, way := range ways {
			t.Run(sc.name+", "+name, func(t *testing.T) { crashes(t, sc, way) })
		}
	}
}

func crashes(t *testing.T, sc scenario, way func(*engine.Config)) {
	clean := enginetest.New(t, workflowtest.Trip(), 1, way)
	sc.begin(clean)
	clean.Settle()
	effects := clean.Gate.Effects()
	if len(effects) < 2 {
		t.Fatalf("only %d effects: %v", len(effects), effects)
	}
	for _, effect := range effects {
		for fate, when := range map[workflowtest.Fate]string{workflowtest.Refuse: "before", workflowtest.Lose: "after"} {
			t.Run(when+" "+strings.ReplaceAll(effect, "/", "_"), func(t *testing.T) {
				crashAt(t, sc, way, effect, fate)
			})
		}
	}
}

// crashAt kills the process at the effect: it and all that would follow in the
// same invocation fail, and nothing of what follows takes place.
func crashAt(t *testing.T, sc scenario, way func(*engine.Config), effect string, fate workflowtest.Fate) {
	w := enginetest.New(t, workflowtest.Trip(), 1, way)
	var dead, died atomic.Bool
	w.Gate.Decide = func(name string, n int) workflowtest.Fate {
		if dead.Load() {
			return workflowtest.Refuse
		}
		if !died.Load() && fmt.Sprintf("%s #%d", name, n) == effect {
			dead.Store(true)
			died.Store(true)
			return fate
		}
		return workflowtest.Pass
	}
	w.Crashed = func() bool { return dead.Swap(false) }
	sc.begin(w)
	w.Settle()
	check(t, w, sc.final...)
}

// check holds what must be true of a world that has settled.
func check(t enginetest.TB, w *enginetest.World, final ...workflow.State) {
	t.Helper()
	for _, p := range w.Store.All() {
		if len(final) > 0 && !slices.Contains(final, p.State) || !p.Rests() {
			t.Errorf("%s ended %s, want one of %v:\n%s", p.ID, p.State, final, enginetest.Describe(p))
		}
		want := []string{}
		if p.State == workflow.Completed {
			want = []string{"flights/" + p.ID, "hotels/" + p.ID, "payments/" + p.ID}
		}
		if w.Backends.Finished("flights/" + p.ID) {
			// What has happened is never called undone, and undoes nothing else.
			if p.State != workflow.Completed && p.State != workflow.Stuck {
				t.Errorf("%s ended %s, but its flight has taken off:\n%s", p.ID, p.State, enginetest.Describe(p))
			}
			for _, s := range p.Steps {
				if s.State == workflow.StepUndone || s.State == workflow.StepUndoing && s.Name != "flight" {
					t.Errorf("%s is %s, but the flight of %s has taken off:\n%s", s.Name, s.State, p.ID, enginetest.Describe(p))
				}
			}
			if p.State == workflow.Stuck && !strings.Contains(p.Reason, "it has happened") {
				t.Errorf("%s is Stuck for %q", p.ID, p.Reason)
			}
			if p.State == workflow.Stuck {
				continue // what is there is an operator's
			}
		}
		got := slices.DeleteFunc(w.Backends.Live(), func(path string) bool { return !strings.HasSuffix(path, "/"+p.ID) })
		if !slices.Equal(got, want) {
			t.Errorf("%s is %s, and there is %v, want %v:\n%s", p.ID, p.State, got, want, enginetest.Describe(p))
		}
		for _, path := range want {
			if n := w.Backends.Created(path); n != 1 {
				t.Errorf("%s came into being %d times", path, n)
			}
		}
		if p.State == workflow.Completed && !left(t, p) {
			for _, s := range p.Steps {
				call := w.Engine.Definition.CallOf(p, s.Name)
				if body, revision := w.Backends.Body(call.Path), w.Backends.Revision(call.Path); !bytes.Equal(body, call.Body) || revision != s.Revision {
					t.Errorf("%s holds %s of revision %d, it should %s of %d", call.Path, body, revision, call.Body, s.Revision)
				}
			}
		}
		for _, op := range p.Operations {
			if op.State == workflow.OperationPending {
				t.Errorf("operation %s is Pending in the end", op.ID)
			}
		}
		if !p.WakeAt.IsZero() || p.Lease.Runner != "" || (p.TTL == 0) != (p.State == workflow.Stuck) || p.EndedAt.IsZero() && p.State.Final() {
			t.Errorf("%s rests, but not fully:\n%s", p.ID, enginetest.Describe(p))
		}
	}
	if n := w.Queue.Len(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// left reports whether a completed transaction was left as it was, since putting
// back a change was refused. Then its reason says so, and the refusal is still to
// be seen in the step.
func left(t enginetest.TB, p *workflow.Progress) bool {
	t.Helper()
	failed := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool { return s.Error != nil })
	named := slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool {
		return s.Error != nil && p.Reason == "left as it was, since a service refused to put it back: "+s.Name+": "+s.Error.Message
	})
	if failed != named || failed != (p.Reason != "") {
		t.Errorf("%s is Completed for %q, and a step has failed: %t:\n%s", p.ID, p.Reason, failed, enginetest.Describe(p))
	}
	return failed
}
