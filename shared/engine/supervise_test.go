package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func wantStateOf(t *testing.T, w *enginetest.World, id string, state workflow.State) *workflow.Progress {
	t.Helper()
	p := w.Store.Get(id)
	if p == nil {
		t.Fatalf("no document %s", id)
	}
	if p.State != state {
		t.Fatalf("%s is %s, want %s:\n%s", id, p.State, state, enginetest.Describe(p))
	}
	return p
}

// onUndo gives undo calls of a backend their outcome.
func onUndo(w *enginetest.World, backend string, answer func() *workflow.Outcome) {
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Undo && req.Call.Backend == backend {
			return answer()
		}
		return nil
	}
}

func cancelled(t *testing.T, w *enginetest.World) {
	t.Helper()
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	wantStateOf(t, w, "t", workflow.Completed)
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
}

func TestUndoOrder(t *testing.T) {
	w := newWorld(t)
	cancelled(t, w)
	before := len(w.Backends.Calls())
	onUndo(w, "payment", func() *workflow.Outcome {
		p := w.Store.Get("t")
		if s := p.Step("payment"); s.State != workflow.StepUndoing || !p.Lease.Live(w.Clock.Now()) {
			t.Errorf("an undo is sent at step %s, lease %v", s.State, p.Lease)
		}
		return nil
	})
	w.Settle()
	undos := w.Backends.Calls()[before:]
	if len(undos) != 3 || undos[0] != "DELETE payments/t" {
		t.Errorf("undo calls %v", undos)
	}
	p := wantStateOf(t, w, "t", workflow.Cancelled)
	if op := p.Operation("op-2"); op.State != workflow.OperationApplied {
		t.Errorf("the cancel is %s", op.State)
	}
}

func TestUndoIsRefused(t *testing.T) {
	var log bytes.Buffer
	w := enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	cancelled(t, w)
	onUndo(w, "hotel", func() *workflow.Outcome { return new(enginetest.Refused(405, "no way back")) })
	w.Settle()
	p := wantStateOf(t, w, "t", workflow.Stuck)
	if !p.WakeAt.IsZero() || p.TTL != 0 || !strings.Contains(p.Reason, "no way back") {
		t.Errorf("wake %s, TTL %d, reason %q", p.WakeAt, p.TTL, p.Reason)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "transaction.id=t") {
		t.Errorf("log:\n%s", log.String())
	}
	// The others were undone all the same, and an operator's retry ends it.
	if live := w.Backends.Live(); !slices.Equal(live, []string{"hotels/t"}) {
		t.Errorf("left %v", live)
	}
	w.Backends.OnCall = nil
	retry(t, w)
	w.Settle()
	wantStateOf(t, w, "t", workflow.Cancelled)
}

// retry is what an operator does.
func retry(t *testing.T, w *enginetest.World) {
	t.Helper()
	p, etag, err := w.Store.Read(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.RetryUndo("ada", "again", w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	p.RaiseWake(w.Clock.Now())
	if _, err := w.Store.Replace(t.Context(), p, etag); err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.Successor(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestUndoOutage(t *testing.T) {
	w := newWorld(t)
	cancelled(t, w)
	start := w.Clock.Now()
	onUndo(w, "flight", func() *workflow.Outcome {
		if w.Clock.Now().Sub(start) < 10*time.Minute {
			return new(enginetest.Unavailable("down"))
		}
		return nil
	})
	w.Settle()
	if p := wantStateOf(t, w, "t", workflow.Cancelled); p.Step("flight").UndoAttempts < 9 || p.DeadLetters != 0 {
		t.Errorf("undo attempts %d, dead letters %d", p.Step("flight").UndoAttempts, p.DeadLetters)
	}
}

func TestUndoOutageWithoutEnd(t *testing.T) {
	w := newWorld(t)
	cancelled(t, w)
	onUndo(w, "flight", func() *workflow.Outcome { return new(enginetest.Unavailable("down")) })
	w.Settle()
	want := enginetest.Budgets().UndoAttempts
	if p := wantStateOf(t, w, "t", workflow.Stuck); p.Step("flight").UndoLaters != want {
		t.Errorf("put off %d times, want %d", p.Step("flight").UndoLaters, want)
	}
}

// abandon puts n transactions into the store whose runner has died, with their
// wake unsent.
func abandon(t *testing.T, w *enginetest.World, n int) {
	t.Helper()
	for i := range n {
		p := w.Engine.Definition.New(fmt.Sprintf("t-%02d", i), w.Clock.Now(), w.Engine.Budgets.Limits())
		p.Receive(workflow.Operation{ID: "op-1", Kind: workflow.OperationStart, Body: workflowtest.TripBody(), AcceptedAt: w.Clock.Now()})
		turn := workflow.Turn{Now: w.Clock.Now(), Due: w.Clock.Now(), Start: true, Limits: w.Engine.Budgets.Limits()}
		if err := w.Engine.Definition.Advance(p, turn); err != nil {
			t.Fatal(err)
		}
		p.Take("gone", w.Clock.Now().Add(time.Minute), engine.LeaseMargin)
		if _, err := w.Store.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 10)
	if n, err := w.Engine.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("woke %d (%v) under live leases", n, err)
	}
	w.Clock.Advance(2 * time.Minute)
	if n, err := w.Engine.Sweep(t.Context()); n != 10 || err != nil {
		t.Fatalf("woke %d (%v), want 10", n, err)
	}
	if n, err := w.Engine.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("woke %d (%v) twice", n, err)
	}
	w.Settle()
	for i := range 10 {
		p := wantStateOf(t, w, fmt.Sprintf("t-%02d", i), workflow.Completed)
		if p.Sweeps != 0 || p.Step("hotel").Effect != workflow.EffectYes {
			t.Errorf("%s: sweeps %d", p.ID, p.Sweeps)
		}
	}
}

// Ensure a transaction that nobody answers for is woken at growing intervals.
func TestSweepWithoutAnswer(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	w.Clock.Advance(2 * time.Minute)
	var waits []time.Duration
	for range 10 {
		if n, err := w.Engine.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("woke %d (%v)", n, err)
		}
		at := w.Store.Get("t-00").WakeAt
		waits = append(waits, at.Sub(w.Clock.Now()))
		w.Clock.AdvanceTo(at.Add(16 * time.Second))
	}
	if waits[0] > 5*time.Second || waits[9] < 2*time.Minute || waits[9] > 5*time.Minute {
		t.Errorf("waits %v", waits)
	}
}

func TestSweepSkipsConflicts(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 2)
	w.Clock.Advance(2 * time.Minute)
	w.Store.BeforeReplace = func(id string) {
		if id == "t-00" {
			if err := w.Store.Change(id, func(p *workflow.Progress) { p.DeadLetters++ }); err != nil {
				t.Error(err)
			}
		}
	}
	if n, err := w.Engine.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("woke %d (%v), want the other one", n, err)
	}
}

func TestSweepGoesOnAfterAFailure(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 5)
	w.Clock.Advance(2 * time.Minute)
	w.Gate.Decide = func(effect string, n int) workflowtest.Fate {
		if effect == "replace t-01" || effect == "send t-02/transactions/2" {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	n, err := w.Engine.Sweep(t.Context())
	if n != 3 || err == nil || !strings.Contains(err.Error(), "t-01") || !strings.Contains(err.Error(), "t-02") {
		t.Errorf("woke %d, error %v", n, err)
	}
	w.Gate.Decide = nil
	w.Settle()
	for _, p := range w.Store.All() {
		if p.State != workflow.Completed {
			t.Errorf("%s is %s", p.ID, p.State)
		}
	}
}

func TestDeadLetters(t *testing.T) {
	w := newWorld(t)
	if err := w.Engine.DeadLettered(t.Context(), "t-00", nil); err != nil {
		t.Errorf("an unknown transaction: %v", err)
	}
	abandon(t, w, 1)
	die(t, w, w.Store.Get("t-00").Wake)
	p := w.Store.Get("t-00")
	if p.DeadLetters != 1 || p.State != workflow.Running || !p.WakeAt.After(p.Lease.Until.Time) || !w.Queue.Has("t-00/transactions/2") {
		t.Errorf("beside a lease:\n%s", enginetest.Describe(p))
	}
	w.Clock.Advance(2 * time.Minute)
	for want := 2; want <= 3; want++ {
		die(t, w, w.Store.Get("t-00").Wake)
		if p := wantStateOf(t, w, "t-00", workflow.Running); p.DeadLetters != want || !w.Queue.Has(fmt.Sprintf("t-00/transactions/%d", p.Wake)) {
			t.Errorf("dead letter %d:\n%s", want, enginetest.Describe(p))
		}
	}
	die(t, w, w.Store.Get("t-00").Wake)
	p = wantStateOf(t, w, "t-00", workflow.Stuck)
	if !p.WakeAt.IsZero() || p.Step("hotel").Effect != workflow.EffectMaybe || p.Lease.Epoch != 2 {
		t.Errorf("not fully stuck:\n%s", enginetest.Describe(p))
	}
	writes := w.Store.Writes()
	if die(t, w, p.Wake); w.Store.Writes() != writes {
		t.Error("a dead letter of a stuck transaction was counted")
	}
}

// Ensure a dead letter is counted although others change the document.
func TestDeadLetterAgainstConflicts(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	conflicts := 3
	w.Store.BeforeReplace = func(id string) {
		if conflicts > 0 {
			conflicts--
			if err := w.Store.Change(id, func(p *workflow.Progress) { p.RaiseWake(w.Clock.Now()) }); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.Engine.DeadLettered(context.Background(), "t-00", nil); err != nil {
		t.Fatal(err)
	}
	if p := w.Store.Get("t-00"); p.DeadLetters != 1 || p.Wake != 5 {
		t.Errorf("dead letters %d, wake %d, want 1 and 5", p.DeadLetters, p.Wake)
	}
}

// Ensure a document of a newer version is left alone: this one would drop what it
// does not know.
func TestDeadLetterOfANewerDocument(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	if err := w.Store.Change("t-00", func(p *workflow.Progress) { p.Schema++ }); err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.DeadLettered(context.Background(), "t-00", nil); err == nil {
		t.Error("counted")
	}
	if p := w.Store.Get("t-00"); p.DeadLetters != 0 {
		t.Errorf("%d dead letters", p.DeadLetters)
	}
}

// Ensure an operation in the wrong queue is not acted on: Supervise would do so
// beside Schedule's lease.
func TestOperationInTheWrongQueue(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	writes := w.Store.Writes()
	err := w.Engine.Supervise(t.Context(), w.Operation(workflow.OperationCancel, "t-00", "op-2", nil))
	if !errors.Is(err, engine.ErrUnreadable) || w.Store.Writes() != writes {
		t.Errorf("error %v, want one that quarantines the message", err)
	}
}

// Ensure one dead letter counts once although its answer is lost or its wake
// can't be sent: it would be reported again and again, and leave a healthy
// transaction Stuck.
func TestADeadLetterCountsOnce(t *testing.T) {
	for effect, fate := range map[string]workflowtest.Fate{
		"replace t-00":              workflowtest.Lose,
		"send t-00/transactions/2":  workflowtest.Refuse,
		"send t-00/transactions/2 ": workflowtest.Lose,
		"read t-00 (the first)":     workflowtest.Refuse,
		"replace t-00, not at all":  workflowtest.Refuse,
	} {
		t.Run(effect, func(t *testing.T) {
			w := newWorld(t)
			abandon(t, w, 1)
			w.Clock.Advance(2 * time.Minute)
			w.Gate.Decide = func(name string, n int) workflowtest.Fate {
				if strings.HasPrefix(effect, name) && n <= 5 && (n == 1 || strings.HasPrefix(name, "send")) {
					return fate
				}
				return workflowtest.Pass
			}
			for range 20 { // as the host does, until it succeeds
				if w.Engine.DeadLettered(t.Context(), "t-00", nil) == nil {
					break
				}
			}
			if p := w.Store.Get("t-00"); p.DeadLetters != 1 || p.State != workflow.Running || p.Wake != 2 {
				t.Errorf("counted %d times:\n%s", p.DeadLetters, enginetest.Describe(p))
			}
			w.Gate.Decide = nil
			w.Settle()
			wantStateOf(t, w, "t-00", workflow.Completed)
		})
	}
}

// Ensure Sweep leaves alone what someone has seen to since it was listed.
func TestSweepSkipsWhatWasSeenTo(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	w.Clock.Advance(2 * time.Minute)
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		if effect == "read t-00" {
			if err := w.Store.Change("t-00", func(p *workflow.Progress) { p.RaiseWake(w.Clock.Now()) }); err != nil {
				t.Error(err)
			}
		}
		return workflowtest.Pass
	}
	if n, err := w.Engine.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("woke %d (%v)", n, err)
	}
}
