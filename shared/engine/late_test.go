package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func wakeOf(p *workflow.Progress) engine.Envelope {
	return engine.Envelope{Schema: engine.EnvelopeSchema, TransactionID: p.ID, Wake: p.Wake}
}

// Ensure a wake that waited long in its queue is acted on when it comes,
// although Sweep has raised others since: with a backlog, each wake would find
// a newer one and nothing would ever be done.
func TestWakeBehindABacklog(t *testing.T) {
	w := world(t)
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome { return new(enginetest.Busy(time.Second)) }
	w.Step()
	first := wakeOf(wantState(t, w, workflow.Running))
	for w.Store.Get("t").Sweeps < 6 {
		w.Clock.Advance(30 * time.Second)
		if _, err := w.Engine.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p := w.Store.Get("t")
	if !p.WakeAt.After(w.Clock.Now()) || p.Wake == first.Wake {
		t.Fatalf("the test needs a newer wake that is not due:\n%s", enginetest.Describe(p))
	}
	w.Backends.OnCall = nil
	if err := w.Engine.Schedule(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantState(t, w, workflow.Completed)
}

// Ensure the same for a transaction whose runner has died, and that any message
// takes it over only behind the margin for the clocks.
func TestAnyMessageTakesOverFromADeadRunner(t *testing.T) {
	w := world(t)
	w.Step()
	until := w.Clock.Now().Add(time.Minute)
	if err := w.Store.Change("t", func(p *workflow.Progress) {
		p.State, p.Steps[2].State = workflow.Running, workflow.StepStarted
		p.Operations[0].State = workflow.OperationPending
		p.Take("dead", until, engine.LeaseMargin)
		p.RaiseWake(until.Add(time.Hour)) // Sweep's, say
	}); err != nil {
		t.Fatal(err)
	}
	stale := engine.Envelope{Schema: engine.EnvelopeSchema, TransactionID: "t", Wake: 1}
	for _, at := range []time.Time{until.Add(-time.Second), until.Add(engine.LeaseMargin - time.Second), until.Add(engine.LeaseMargin)} {
		wantState(t, w, workflow.Running)
		w.Clock.AdvanceTo(at)
		if err := w.Engine.Schedule(t.Context(), stale); err != nil {
			t.Fatal(err)
		}
		if p := w.Store.Get("t"); !p.Rests() && !w.Queue.Has(fmt.Sprintf("t/transactions/%d", p.Wake)) {
			t.Errorf("at %s: wake %d was not sent", at, p.Wake)
		}
	}
	wantState(t, w, workflow.Completed)
}

// Ensure a wake that comes while its lease has been renewed leads to another
// one, so that a runner that dies after the renewal is followed without Sweep.
func TestWakeOfALeaseThatWasRenewed(t *testing.T) {
	w := enginetest.New(t, fiveSteps(), 1, nil)
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	deliver := w.Operation(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	dead := false
	w.Gate.Decide = func(string, int) workflowtest.Fate {
		if dead {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		switch req.Call.Backend {
		case "a": // a repeat of the operation sends the wake of the lease
			if err := w.Engine.Schedule(context.Background(), deliver); err != nil {
				t.Error(err)
			}
			w.Clock.Advance(5 * time.Second)
		case "d": // behind two renewals
			dead = true
		}
		return nil
	}
	w.Step()
	dead, w.Backends.OnCall = false, nil
	p := wantState(t, w, workflow.Running)
	if p.Lease.Runner == "" || !w.Queue.Has(fmt.Sprintf("t/transactions/%d", p.Wake)) {
		t.Fatalf("the test needs a dead runner whose wake was sent before a renewal:\n%s", enginetest.Describe(p))
	}
	for w.Queue.Len() > 0 { // no Sweep
		if !w.Step() {
			next, _ := w.Queue.Next()
			w.Clock.AdvanceTo(next)
		}
	}
	wantState(t, w, workflow.Completed)
}

// Ensure a panic of the business stays in its invocation: in a goroutine of its
// own it would end the process, and every other transaction's work with it.
func TestPanicOfTheBusiness(t *testing.T) {
	d := single()
	d.Steps[0].Call = func(workflow.Input) workflow.Call { panic("no such field") }
	w := enginetest.New(t, d, 1, nil)
	defer func() {
		if recover() == nil {
			t.Error("the panic was lost")
		}
	}()
	_ = w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationStart, "t", "op-1", []byte(`{}`)))
}

// Ensure no call is made behind the lease when the process was stopped between
// the save and the call.
func TestPauseBetweenSaveAndCall(t *testing.T) {
	for _, pause := range []time.Duration{54 * time.Second, time.Hour} {
		w := enginetest.New(t, single(), 1, func(c *engine.Config) { c.Budgets.InvocationTimeout = 2 * time.Hour })
		w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
		paused := false
		w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
			if effect == "create t" && !paused {
				paused = true
				w.Clock.Advance(pause) // the answer takes that long
			}
			return workflowtest.Pass
		}
		w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
			if p := w.Store.Get("t"); p.Lease.Until.Sub(w.Clock.Now()) < engine.LeaseMargin {
				t.Errorf("pause %s: a call at %s, the lease ends at %s", pause, w.Clock.Now(), p.Lease.Until)
			}
			return nil
		}
		w.Settle()
		wantState(t, w, workflow.Completed)
	}
}

// Ensure a reschedule that waits for the completion of the run is done by the
// same runner, at once: completing gives the lease back, reopening does not.
func TestRescheduleAtTheCompletion(t *testing.T) {
	w := world(t)
	wished := false
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		p := w.Store.Get("t")
		if !p.Lease.Live(w.Clock.Now()) {
			t.Errorf("a call without a lease: %v", p.Lease)
		}
		if req.Call.Backend == "hotel" && !wished {
			wished = true
			for op, body := range map[string]string{"op-2": `{"nights":5}`, "op-3": `{"nights":6}`} {
				if err := w.Engine.Schedule(context.Background(), w.Operation(workflow.OperationReschedule, "t", op, []byte(body))); err != nil {
					t.Error(err)
				}
			}
		}
		return nil
	}
	w.Step()
	p := wantState(t, w, workflow.Completed)
	for _, id := range []string{"op-2", "op-3"} {
		if op := p.Operation(id); op.State != workflow.OperationApplied {
			t.Errorf("operation %s is %s", id, op.State)
		}
	}
	if p.Revision != 3 || p.Step("hotel").Attempts != 3 {
		t.Errorf("revision %d, the hotel was called %d times", p.Revision, p.Step("hotel").Attempts)
	}
}
