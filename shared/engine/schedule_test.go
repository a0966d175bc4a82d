package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func newWorld(t *testing.T) *enginetest.World {
	return enginetest.New(t, workflowtest.Trip(), 1, nil)
}

func wake(n int) engine.Envelope {
	return engine.Envelope{Schema: engine.EnvelopeSchema, TransactionID: "t", Wake: n}
}

// later makes the backend unavailable, but for undo calls.
func later(w *enginetest.World, backend string) {
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Backend == backend && !req.Undo {
			return new(enginetest.Unavailable("down"))
		}
		return nil
	}
}

func TestMessagesWithoutDocument(t *testing.T) {
	w := newWorld(t)
	if err := w.Engine.Schedule(t.Context(), wake(3)); !errors.Is(err, engine.ErrUnknownTransaction) {
		t.Errorf("a wake: error %v, want ErrUnknownTransaction", err)
	}
	if err := w.Engine.Supervise(t.Context(), wake(3)); !errors.Is(err, engine.ErrUnknownTransaction) {
		t.Errorf("a wake for Supervise: error %v, want ErrUnknownTransaction", err)
	}
	for _, kind := range []workflow.OperationKind{workflow.OperationStart, workflow.OperationReschedule, workflow.OperationCancel} {
		e := w.Operation(kind, "t", "op-1", workflowtest.TripBody())
		e.AcceptedAt = w.Clock.Now().Add(-30*24*time.Hour - time.Second)
		if err := w.Engine.Schedule(t.Context(), e); !errors.Is(err, engine.ErrTooOld) {
			t.Errorf("an old %s: error %v, want ErrTooOld", kind, err)
		}
	}
	if w.Store.Writes() != 0 || len(w.Backends.Calls()) != 0 {
		t.Error("a refused message left something")
	}
}

// Ensure an outage costs a wake per try, at growing intervals, and nothing else.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	later(w, "flight")
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	var waits []time.Duration
	for range 9 {
		if !w.Step() {
			t.Fatal("no message to handle")
		}
		p := wantState(t, w, workflow.Running)
		waits = append(waits, p.WakeAt.Sub(w.Clock.Now()))
		if w.Step() {
			t.Fatal("a message comes before its time")
		}
		w.Clock.AdvanceTo(p.WakeAt.Time)
	}
	for i := 1; i < len(waits); i++ {
		if waits[i] < waits[i-1]/2 || waits[i] > 5*time.Minute {
			t.Errorf("waits %v", waits)
		}
	}
	if waits[8] < 2*time.Minute {
		t.Errorf("the waits do not grow: %v", waits)
	}
	p := wantState(t, w, workflow.Running)
	if s := p.Step("hotel"); s.State != workflow.StepSucceeded || s.Attempts != 1 {
		t.Errorf("the hotel is %s after %d attempts", s.State, s.Attempts)
	}
	w.Backends.OnCall = nil
	w.Settle()
	if p = wantState(t, w, workflow.Completed); p.DeadLetters != 0 || p.Sweeps != 0 {
		t.Errorf("%d dead letters, %d sweeps", p.DeadLetters, p.Sweeps)
	}
}

// Ensure whatever comes while a step waits sends the current wake again, and
// calls nothing.
func TestNothingIsDue(t *testing.T) {
	w := newWorld(t)
	later(w, "flight")
	deliver := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	if err := w.Engine.Schedule(t.Context(), deliver); err != nil {
		t.Fatal(err)
	}
	calls, writes, sent := len(w.Backends.Calls()), w.Store.Writes(), w.Queue.Sent()
	for _, e := range []engine.Envelope{deliver, wake(1), deliver} {
		if err := w.Engine.Schedule(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.Backends.Calls()) != calls || w.Store.Writes() != writes || w.Queue.Sent() != sent {
		t.Errorf("%d calls, %d writes, %d messages more", len(w.Backends.Calls())-calls, w.Store.Writes()-writes, w.Queue.Sent()-sent)
	}
	// Supervise is not the one to work on it.
	if err := w.Engine.Supervise(t.Context(), wake(2)); err != nil || w.Store.Writes() != writes {
		t.Errorf("Supervise: error %v, %d writes more", err, w.Store.Writes()-writes)
	}
}

// Ensure a current wake that comes early by this machine's clock is acted on
// and consumed, since its message will not come again.
func TestCurrentWakeIsDue(t *testing.T) {
	w := newWorld(t)
	later(w, "flight")
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Step()
	before := wantState(t, w, workflow.Running)
	if !before.WakeAt.After(w.Clock.Now()) {
		t.Fatal("the wake is due already")
	}
	calls := len(w.Backends.Calls())
	if err := w.Engine.Schedule(t.Context(), wake(before.Wake)); err != nil {
		t.Fatal(err)
	}
	after := wantState(t, w, workflow.Running)
	if len(w.Backends.Calls()) == calls || after.Wake <= before.Wake {
		t.Errorf("no call, wake %d after %d", after.Wake, before.Wake)
	}
}

// Ensure no two intended messages look the same to duplicate detection: two
// reschedules and the wakes between them all act within its window.
func TestEverythingActsWithinTheDuplicateWindow(t *testing.T) {
	w := newWorld(t)
	later(w, "payment")
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Step()
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Step()
	w.Post(workflow.OperationReschedule, "t", "op-3", []byte(`{"nights":6}`))
	w.Step()
	w.Backends.OnCall = nil
	w.Settle()
	if spent := w.Clock.Now().Sub(workflowtest.Start); spent > enginetest.DuplicateWindow {
		t.Fatalf("it took %s, longer than the window", spent)
	}
	p := wantState(t, w, workflow.Completed)
	for _, id := range []string{"op-1", "op-2", "op-3"} {
		if op := p.Operation(id); op.State != workflow.OperationApplied {
			t.Errorf("operation %s is %s", id, op.State)
		}
	}
	if body := string(w.Backends.Body("hotels/t")); !strings.Contains(body, `"part":["Oslo",6]`) {
		t.Errorf("the hotel holds %s", body)
	}
}

// Ensure a repeated operation changes nothing, wherever the transaction is.
func TestRepeatedOperations(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Settle()
	calls, writes := len(w.Backends.Calls()), w.Store.Writes()
	for _, id := range []string{"op-1", "op-2"} {
		e := w.Operation(workflow.OperationReschedule, "t", id, []byte(`{"nights":9}`))
		if err := w.Engine.Schedule(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.Backends.Calls()) != calls || w.Store.Writes() != writes {
		t.Error("a repeat changed something")
	}
}

func TestTombstoneStopsALateDelivery(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
	w.Post(workflow.OperationReschedule, "t", "op-3", []byte(`{"nights":5}`))
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	p := wantState(t, w, workflow.Cancelled)
	for id, want := range map[string]workflow.OperationState{
		"op-1": workflow.OperationRefused, "op-2": workflow.OperationApplied, "op-3": workflow.OperationRefused,
	} {
		if op := p.Operation(id); op == nil || op.State != want {
			t.Errorf("operation %s is %+v, want %s", id, op, want)
		}
	}
	if n := len(w.Backends.Calls()); n != 0 {
		t.Errorf("%d calls for a cancelled transaction", n)
	}
}

func TestExpiryOfARunningTransaction(t *testing.T) {
	w := newWorld(t)
	later(w, "payment")
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	p := wantState(t, w, workflow.Compensated)
	if p.Cause != workflow.CauseExpired || len(w.Backends.Live()) != 0 {
		t.Errorf("cause %s, left %v", p.Cause, w.Backends.Live())
	}
	if over := p.EndedAt.Sub(p.CompleteBy.Time); over < 0 || over > time.Minute {
		t.Errorf("ended %s after its limit", over)
	}
}

func TestRescheduleWhoseDeliveryNeverComes(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
	w.Settle()
	if p := wantState(t, w, workflow.Rejected); p.Cause != workflow.CauseExpired {
		t.Errorf("cause %s", p.Cause)
	}
}

// Ensure that of what finds a transaction being cancelled another cancel is
// refused, and a reschedule waits for how the first one ends, even beside
// Supervise's lease, which is left alone.
func TestOperationsOnATransactionBeingUndone(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
	asked := false
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Undo && !asked {
			asked = true
			before := w.Store.Get("t")
			for kind, want := range map[workflow.OperationKind]workflow.OperationState{
				workflow.OperationCancel: workflow.OperationRefused, workflow.OperationReschedule: workflow.OperationPending,
			} {
				id := "op-3-" + string(kind)
				if err := w.Engine.Schedule(context.Background(), w.Operation(kind, "t", id, []byte(`{"nights":5}`))); err != nil {
					t.Error(err)
				}
				if op := w.Store.Get("t").Operation(id); op.State != want {
					t.Errorf("%s is %s, want %s", id, op.State, want)
				}
			}
			if after := w.Store.Get("t"); after.Lease != before.Lease || after.Wake != before.Wake || after.Saves != before.Saves {
				t.Errorf("lease %v, wake %d, saves %d: want %v, %d, %d", after.Lease, after.Wake, after.Saves, before.Lease, before.Wake, before.Saves)
			}
		}
		return nil
	}
	w.Settle()
	p := wantState(t, w, workflow.Cancelled)
	if !asked || p.Operation("op-2").State != workflow.OperationApplied {
		t.Errorf("the first cancel is %s", p.Operation("op-2").State)
	}
}
