package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure a message is not settled when what came of its calls could not be saved:
// it comes again, and sends the wake that takes over behind the lease's end. Sweep
// would find the transaction as well, but is not to be needed for it.
func TestSaveOfTheResultsFails(t *testing.T) {
	w := world(t)
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		if effect == "replace t" {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	e := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	err := w.Engine.Schedule(t.Context(), e)
	if err == nil || failure.KindOf(err) != failure.Transient {
		t.Fatalf("error %v, want a transient one", err)
	}
	w.Gate.Decide = nil
	p := wantState(t, w, workflow.Running)
	if !p.Lease.Live(w.Clock.Now()) || w.Queue.Has(fmt.Sprintf("t/transactions/%d", p.Wake)) {
		t.Fatalf("the test needs a live lease whose wake is not sent:\n%s", p.Lease.Until)
	}
	if err := w.Engine.Schedule(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if !w.Queue.Has(fmt.Sprintf("t/transactions/%d", p.Wake)) {
		t.Errorf("wake %d was not sent", p.Wake)
	}
}

// Ensure no wake is sent that the document does not tell of: it would be taken for
// an old one, and the one that is saved then has its MessageID, and is dropped.
func TestWakeIsSavedBeforeItIsSent(t *testing.T) {
	w := world(t)
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome { return new(enginetest.Busy(time.Minute)) }
	w.Step()
	if err := w.Store.Change("t", func(p *workflow.Progress) {
		p.Take("another", w.Clock.Now().Add(time.Hour), engine.LeaseMargin)
	}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		var wake int
		if n, _ := fmt.Sscanf(effect, "send t/transactions/%d", &wake); n == 1 {
			sent++
			if saved := w.Store.Get("t").Wake; wake > saved {
				t.Errorf("wake %d was sent, saved is %d", wake, saved)
			}
		}
		return workflowtest.Pass
	}
	if err := w.Engine.Schedule(t.Context(), wakeOf(w.Store.Get("t"))); err != nil {
		t.Fatal(err)
	}
	w.Backends.OnCall = nil
	w.Settle()
	wantState(t, w, workflow.Completed)
	if sent < 2 {
		t.Errorf("%d wakes were sent, want the one behind the lease and the next", sent)
	}
}
