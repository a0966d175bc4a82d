package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// journey is a trip of one step after the other.
func journey() *workflow.Definition {
	d := workflowtest.Trip()
	d.Steps[1].After, d.Steps[1].Uses = []string{"hotel"}, []string{"hotel"}
	d.Steps[2].After, d.Steps[2].Uses = []string{"flight"}, []string{"hotel", "flight"}
	return d
}

// travel returns a world with a journey posted.
func travel(t *testing.T, d *workflow.Definition) *enginetest.World {
	w := enginetest.New(t, d, 1, nil)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	return w
}

// answer has the first n calls of a backend answered so, and no undo.
func answer(w *enginetest.World, backend string, n int, o workflow.Outcome) {
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Backend != backend || req.Undo || n == 0 {
			return nil
		}
		n--
		return &o
	}
}

// Ensure a refusal finds only the steps in doubt that were called, though all were
// marked: after them no undo is called, and none at all if nothing was done.
func TestRefusalWithoutACrash(t *testing.T) {
	for _, tc := range []struct {
		refuses string
		state   workflow.State
		calls   []string
	}{
		{"hotel", workflow.Rejected, []string{"PUT hotels/t"}},
		{"flight", workflow.Compensated, []string{"PUT hotels/t", "PUT flights/t", "DELETE hotels/t"}},
		{"payment", workflow.Compensated, []string{"PUT hotels/t", "PUT flights/t", "PUT payments/t", "DELETE flights/t", "DELETE hotels/t"}},
	} {
		t.Run(tc.refuses, func(t *testing.T) {
			w := travel(t, journey())
			answer(w, tc.refuses, -1, enginetest.Refused(422, "no"))
			w.Settle()
			p := wantState(t, w, tc.state)
			wantCalls(t, w, tc.calls...)
			for _, s := range p.Steps {
				called := slices.Contains(w.Backends.Calls(), "PUT "+s.Name+"s/t")
				if (s.Attempts == 1) != called || (s.Tried == 1) != called || s.Attempts > 1 || called == s.StartedAt.IsZero() {
					t.Errorf("%s was called: %t, and it is %+v", s.Name, called, s)
				}
			}
		})
	}
}

// Ensure all steps that were marked are in doubt after a crash, so that a refusal
// undoes them; and that a takeover that is refused nothing completes.
func TestAllThatIsMarkedIsInDoubtAfterACrash(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprintf("refused %t", refused), func(t *testing.T) {
			w := travel(t, journey())
			dead := false
			w.Crashed = func() bool { return dead }
			w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
				dead = dead || effect == "PUT hotels/t"
				if dead {
					return workflowtest.Refuse
				}
				return workflowtest.Pass
			}
			w.Step()
			p := wantState(t, w, workflow.Running)
			if got := p.Marked(); !slices.Equal(got, []string{"hotel", "flight", "payment"}) || p.Lease.Runner == "" {
				t.Fatalf("marked are %v, and the lease is %v", got, p.Lease)
			}
			w.Gate.Decide, w.Crashed = nil, nil
			state := workflow.Completed
			if refused {
				state = workflow.Compensated
				answer(w, "hotel", -1, enginetest.Refused(422, "no"))
			}
			w.Settle()
			p = wantState(t, w, state)
			undone := slices.DeleteFunc(w.Backends.Calls(), func(call string) bool { return !strings.HasPrefix(call, "DELETE") })
			if refused && !slices.Equal(undone, []string{"DELETE payments/t", "DELETE flights/t", "DELETE hotels/t"}) || !refused && len(undone) > 0 {
				t.Errorf("undone were %v", undone)
			}
			if refused && len(w.Backends.Live()) > 0 {
				t.Errorf("%v is left", w.Backends.Live())
			}
			for _, s := range p.Steps {
				if s.Effect == workflow.EffectNo {
					t.Errorf("%s has no effect: %+v", s.Name, s)
				}
			}
		})
	}
}

// savedBefore notes, for each call but an undo, the steps that the document says
// have succeeded in its revision.
func savedBefore(w *enginetest.World) map[string][]string {
	saved := map[string][]string{}
	before := w.Backends.OnCall
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if before != nil {
			if o := before(req); o != nil {
				return o
			}
		}
		if req.Undo {
			return nil
		}
		saved[req.Step] = []string{}
		for _, s := range w.Store.Get("t").Steps {
			if s.State == workflow.StepSucceeded && s.Revision == req.Revision {
				saved[req.Step] = append(saved[req.Step], s.Name)
			}
		}
		return nil
	}
	return saved
}

// Ensure only a first run of which all goes well leaves out the saves between its
// stages, and one that uses a result saves it if it might come out otherwise.
func TestWhatIsSavedBeforeACall(t *testing.T) {
	unstable := journey()
	unstable.Steps[0].Stable = false
	unused := journey()
	unused.Steps[0].Stable = false
	unused.Steps[1].Uses, unused.Steps[2].Uses = nil, []string{"flight"}
	for name, tc := range map[string]struct {
		d    *workflow.Definition
		live func(w *enginetest.World) // before its messages are handled
		want map[string][]string
	}{
		"all goes well":            {journey(), nil, map[string][]string{"hotel": {}, "flight": {}, "payment": {}}},
		"a result that may change": {unstable, nil, map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"nobody uses it":           {unused, nil, map[string][]string{"hotel": {}, "flight": {}, "payment": {}}},
		"a second attempt": {journey(), func(w *enginetest.World) { answer(w, "hotel", 1, enginetest.Unavailable("down")) },
			map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"a later wake": {journey(), func(w *enginetest.World) { answer(w, "flight", 3, enginetest.Unavailable("down")) },
			map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"not taken at first": {journey(), func(w *enginetest.World) { answer(w, "hotel", 1, enginetest.Busy(time.Minute)) },
			map[string][]string{"hotel": {}, "flight": {}, "payment": {}}},
		"a change": {journey(), func(w *enginetest.World) {
			w.Settle()
			w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"city":"Bergen"}`))
		}, map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"a change that was there first": {journey(), func(w *enginetest.World) {
			if err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationReschedule, "t", "op-2", []byte(`{"city":"Bergen"}`))); err != nil {
				w.T.Fatalf("%v", err)
			}
		}, map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"putting back a change": {journey(), func(w *enginetest.World) {
			if err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationReschedule, "t", "op-2", []byte(`{"city":"Bergen"}`))); err != nil {
				w.T.Fatalf("%v", err)
			}
			answer(w, "hotel", 1, enginetest.Refused(422, "not in Bergen"))
		}, map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
		"after a crash": {journey(), func(w *enginetest.World) {
			if err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())); err == nil {
				w.T.Fatalf("the process did not die")
			}
			w.Gate.Decide = nil
		}, map[string][]string{"hotel": {}, "flight": {"hotel"}, "payment": {"hotel", "flight"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := travel(t, tc.d)
			if name == "after a crash" {
				w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
					if strings.HasPrefix(effect, "create") {
						return workflowtest.Pass
					}
					return workflowtest.Refuse
				}
			}
			if tc.live != nil {
				tc.live(w)
			}
			saved := savedBefore(w)
			w.Settle()
			wantState(t, w, workflow.Completed)
			for step, want := range tc.want {
				if !slices.Equal(saved[step], want) {
					t.Errorf("before %s is called, %v are saved, want %v", step, saved[step], want)
				}
			}
		})
	}
}

// Ensure nobody lets go of the lease while a step is marked: to wait for a service,
// or since there is no time left.
func TestNothingIsMarkedWhileNobodyWorks(t *testing.T) {
	for step, o := range map[string]workflow.Outcome{
		"hotel": enginetest.Busy(time.Minute), "flight": enginetest.Unavailable("down"), "payment": enginetest.Busy(time.Minute),
	} {
		w := travel(t, journey())
		answer(w, step, 3, o)
		w.Step()
		p := wantState(t, w, workflow.Running)
		if len(p.Marked()) > 0 || p.Lease.Runner != "" || !w.Queue.Has(engine.WakeID("t", string(p.WakeQueue), p.Wake)) {
			t.Errorf("%s has to wait, and marked are %v, the lease is %v", step, p.Marked(), p.Lease)
		}
	}
}

// Ensure a wish that comes in beside results that were not saved loses none of them,
// even if the answer to the save that carries both is lost.
func TestWishBesideUnsavedResults(t *testing.T) {
	for _, fate := range []workflowtest.Fate{workflowtest.Pass, workflowtest.Lose} {
		w := travel(t, journey())
		w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
			if req.Step == "payment" && req.Revision == 1 {
				if err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))); err != nil {
					t.Error(err)
				}
				w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
					if strings.HasPrefix(effect, "replace") {
						w.Gate.Decide = nil
						return fate
					}
					return workflowtest.Pass
				}
			}
			return nil
		}
		w.Step()
		p := wantState(t, w, workflow.Completed)
		wantCalls(t, w, "PUT hotels/t", "PUT flights/t", "PUT payments/t", "PUT hotels/t", "PUT payments/t")
		for _, s := range p.Steps {
			if want := 2; s.Attempts != want && s.Name != "flight" || s.State != workflow.StepSucceeded {
				t.Errorf("step %+v", s)
			}
		}
		if op := p.Operation("op-2"); op.State != workflow.OperationApplied || p.Revision != 2 {
			t.Errorf("revision %d, the wish is %+v", p.Revision, op)
		}
	}
}

// Ensure a start that was posted behind a wish, or twice, finds the document that is
// there: it is refused its creation, reads, and goes on with what it finds.
func TestStartBehindAWish(t *testing.T) {
	w := enginetest.New(t, journey(), 1, nil)
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Step()
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	p := wantState(t, w, workflow.Completed)
	if op := p.Operation("op-2"); op == nil || op.State != workflow.OperationApplied {
		t.Errorf("the wish is %+v", op)
	}
	calls, writes := len(w.Backends.Calls()), w.Store.Writes()
	if err := w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())); err != nil {
		t.Fatal(err)
	}
	if len(w.Backends.Calls()) != calls || w.Store.Writes() != writes {
		t.Error("a start that is repeated changes something")
	}
}
