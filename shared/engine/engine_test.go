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
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// world returns a world with a trip posted.
func world(t *testing.T) *enginetest.World {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	return w
}

func wantState(t *testing.T, w *enginetest.World, state workflow.State) *workflow.Progress {
	t.Helper()
	p := w.Store.Get("t")
	if p == nil {
		t.Fatal("no document")
	}
	if p.State != state {
		t.Fatalf("state %s, want %s:\n%s", p.State, state, enginetest.Describe(p))
	}
	return p
}

func wantCalls(t *testing.T, w *enginetest.World, want ...string) {
	t.Helper()
	got := w.Backends.Calls()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// fiveSteps is a definition of four stages; the second has two steps side by
// side.
func fiveSteps() *workflow.Definition {
	step := func(name string, after ...string) workflow.Step {
		return workflow.Step{Name: name, After: after, Call: func(in workflow.Input) workflow.Call {
			return workflow.Call{Backend: name, Method: "PUT", Path: name + "/" + in.TransactionID, Body: in.Request}
		}}
	}
	return &workflow.Definition{Name: "five", Steps: []workflow.Step{
		step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"), step("e", "d"),
	}}
}

// Ensure all going well costs one create, one save, no read and no message; and a
// save for each stage where the calls take long, or where that is asked for.
func TestWritesOfAGoodRun(t *testing.T) {
	for name, tc := range map[string]struct {
		every, call time.Duration
		writes      int
	}{
		"quick":        {500 * time.Millisecond, 100 * time.Millisecond, 2},
		"slow":         {500 * time.Millisecond, 600 * time.Millisecond, 5},
		"second stage": {500 * time.Millisecond, 250 * time.Millisecond, 4},
		"each stage":   {0, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, fiveSteps(), 1, func(c *engine.Config) { c.Budgets.SaveEvery = tc.every })
			w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
			sent := w.Queue.Sent()
			w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
				if req.Step != "c" { // it is called beside b
					w.Clock.Advance(tc.call)
				}
				return nil
			}
			w.Step()
			p := wantState(t, w, workflow.Completed)
			if n := w.Store.Writes(); n != tc.writes || p.Saves != tc.writes || p.Lease.Epoch != 1 {
				t.Errorf("%d writes, %d saves, epoch %d, want %d, as many and 1: %v", n, p.Saves, p.Lease.Epoch, tc.writes, w.Gate.Effects())
			}
			if slices.ContainsFunc(w.Gate.Effects(), func(effect string) bool { return strings.HasPrefix(effect, "read") }) {
				t.Errorf("a new document was read: %v", w.Gate.Effects())
			}
			if n := w.Queue.Sent() - sent; n != 0 {
				t.Errorf("%d messages sent, want none", n)
			}
			for _, s := range p.Steps {
				if s.Attempts != 1 || s.StartedAt.IsZero() || s.EndedAt.Before(s.StartedAt.Time) {
					t.Errorf("step %+v", s)
				}
			}
		})
	}
}

// Ensure no call is made before a save that says Started, and that all writes
// of a runner carry its lease.
func TestStartedBeforeCall(t *testing.T) {
	w := world(t)
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		p := w.Store.Get("t")
		s := p.Step(req.Call.Backend)
		if s.State != workflow.StepStarted || !p.Lease.Live(w.Clock.Now()) || s.Attempts != 1 || req.Revision != 1 || req.OperationID != "op-1" {
			t.Errorf("call %s at step %s, lease %v, attempts %d: %+v", req.Call.Path, s.State, p.Lease, s.Attempts, req)
		}
		return nil
	}
	w.Settle()
	wantState(t, w, workflow.Completed)
	wantCalls(t, w, "PUT hotels/t", "PUT flights/t", "PUT payments/t")
}

// Ensure a write whose answer is lost is recognized as our own, so that no call
// is made twice.
func TestLostAnswers(t *testing.T) {
	for _, effect := range []string{"create t #1", "replace t #1"} {
		for _, fate := range []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose} {
			t.Run(fmt.Sprint(strings.ReplaceAll(effect, " ", "-"), fate), func(t *testing.T) {
				w := world(t)
				w.Gate.Decide = func(name string, n int) workflowtest.Fate {
					if fmt.Sprintf("%s #%d", name, n) == effect {
						return fate
					}
					return workflowtest.Pass
				}
				w.Step()
				wantState(t, w, workflow.Completed)
				wantCalls(t, w, "PUT hotels/t", "PUT flights/t", "PUT payments/t")
				if n := w.Store.Writes(); n != 2 {
					t.Errorf("%d writes, want 2", n)
				}
			})
		}
	}
}

// Ensure a wish that comes in beside a runner costs it one repeated save, and
// is acted on with that save.
func TestWishBesideTheRunner(t *testing.T) {
	for _, during := range []string{"hotel", "payment"} {
		t.Run(during, func(t *testing.T) {
			w := world(t)
			wished := false
			w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
				if req.Call.Backend == during && !wished {
					wished = true
					err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationCancel, "t", "op-2", nil))
					if err != nil {
						t.Errorf("the wish: %v", err)
					}
					p := w.Store.Get("t")
					if op := p.Operation("op-2"); op == nil || op.State != workflow.OperationPending || p.Saves == 0 {
						t.Errorf("the wish is not pending: %+v", op)
					}
				}
				return nil
			}
			w.Step()
			p := wantState(t, w, workflow.Compensating)
			if p.Cause != workflow.CauseCancelled || p.Lease.Runner != "" {
				t.Errorf("cause %s, lease %v", p.Cause, p.Lease)
			}
			w.Settle()
			wantState(t, w, workflow.Cancelled)
			if live := w.Backends.Live(); len(live) != 0 {
				t.Errorf("%v is left", live)
			}
		})
	}
}

// Ensure a runner that has lost its lease changes nothing, calls nothing more once a
// save has told it, and leaves the transaction to the other.
func TestLeaseLost(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) { c.Budgets.SaveEvery = 0 })
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Backend == "hotel" {
			err := w.Store.Change("t", func(p *workflow.Progress) {
				p.Abandoned()
				p.Take("another", w.Clock.Now().Add(time.Minute), engine.LeaseMargin)
			})
			if err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	w.Step()
	wantCalls(t, w, "PUT hotels/t", "PUT flights/t")
	p := wantState(t, w, workflow.Running)
	if p.Lease.Runner != "another" || p.Step("hotel").State != workflow.StepPending {
		t.Errorf("lease %v, hotel %s: the late answers were not dropped", p.Lease, p.Step("hotel").State)
	}
	w.Backends.OnCall = nil
	w.Settle() // the other never comes back
	wantState(t, w, workflow.Completed)
}

// Ensure a foreign lease is respected, and everything that meets it leaves a
// wake behind its end: the one that is set, unless that is what has come.
func TestForeignLease(t *testing.T) {
	w := world(t)
	e := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome { return new(enginetest.Busy(time.Minute)) }
	if err := w.Engine.Schedule(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	calls := len(w.Backends.Calls())
	until := w.Clock.Now().Add(time.Hour)
	if err := w.Store.Change("t", func(p *workflow.Progress) { p.Take("another", until, engine.LeaseMargin) }); err != nil {
		t.Fatal(err)
	}
	before := w.Store.Get("t")
	current := w.Operation("", "t", "", nil)
	current.Wake = before.Wake
	for name, m := range map[string]struct {
		handle func() error
		raises int
	}{
		"the current wake": {func() error { return w.Engine.Schedule(t.Context(), current) }, 1},
		"an old message":   {func() error { return w.Engine.Schedule(t.Context(), e) }, 0},
		"a wish": {func() error {
			return w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`)))
		}, 0},
	} {
		wake := w.Store.Get("t").Wake
		current.Wake = wake
		if err := m.handle(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := w.Store.Get("t")
		if p.Wake != wake+m.raises || !p.WakeAt.Equal(until.Add(engine.LeaseMargin)) || p.Saves != before.Saves || p.Lease != before.Lease {
			t.Errorf("%s: wake %d at %s, saves %d, lease %v", name, p.Wake, p.WakeAt, p.Saves, p.Lease)
		}
		if !w.Queue.Has(fmt.Sprintf("t/transactions/%d", p.Wake)) {
			t.Errorf("%s: wake %d was not sent", name, p.Wake)
		}
	}
	if n := len(w.Backends.Calls()); n != calls {
		t.Errorf("%d calls beside a foreign lease", n-calls)
	}
}

func TestStoreIsDown(t *testing.T) {
	w := world(t)
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate { return workflowtest.Refuse }
	err := w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()))
	if failure.KindOf(err) != failure.Transient || err == nil {
		t.Errorf("error %v, want a transient one", err)
	}
}

func TestNewerDocument(t *testing.T) {
	w := world(t)
	w.Step()
	if err := w.Store.Change("t", func(p *workflow.Progress) { p.Schema++ }); err != nil {
		t.Fatal(err)
	}
	err := w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationCancel, "t", "op-2", nil))
	if err == nil || failure.KindOf(err) != failure.Transient {
		t.Errorf("error %v, want a transient one", err)
	}
}

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	_, err := engine.New(engine.Config{Definition: &workflow.Definition{Name: "empty"}})
	for _, want := range []string{"no steps", "required field", "queue transactions", "queue compensations", "lease"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %q", err, want)
		}
	}
}

func TestPause(t *testing.T) {
	if err := engine.Pause(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("pause: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.Pause(ctx, time.Hour); err == nil {
		t.Error("a pause outlives its context")
	}
}
