package engine_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// die reports the dead letter of a wake of t-00.
func die(t *testing.T, w *enginetest.World, wake int) {
	t.Helper()
	body, err := engine.Envelope{TransactionID: "t-00", Wake: wake, AcceptedAt: w.Clock.Now()}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.DeadLettered(t.Context(), "t-00", body); err != nil {
		t.Fatal(err)
	}
}

// raise has others raise wakes of t-00, whose messages are under way then.
func raise(t *testing.T, w *enginetest.World, n int) {
	t.Helper()
	for range n {
		if err := w.Store.Change("t-00", func(p *workflow.Progress) { p.RaiseWake(w.Clock.Now()) }); err != nil {
			t.Fatal(err)
		}
	}
}

// Ensure that the messages of one transaction which die in one outage, in
// whatever order and its operation among them, count once, each also when it is
// reported twice, and that the transaction goes on behind the outage.
func TestAnOutageIsOneDeadLetter(t *testing.T) {
	operation := 0
	for name, order := range map[string][]int{
		"oldest first": {operation, 1, 2, 3, 4, 5}, "newest first": {5, 4, 3, 2, 1, operation}, "mixed": {3, 5, operation, 5, 3, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			abandon(t, w, 1)
			raise(t, w, 4)
			w.Clock.Advance(2 * time.Minute)
			op, err := w.Operation(workflow.OperationStart, "t-00", "op-1", w.Store.Get("t-00").Request).Encode()
			if err != nil {
				t.Fatal(err)
			}
			for _, wake := range order {
				if wake != operation {
					die(t, w, wake)
				} else if err := w.Engine.DeadLettered(t.Context(), "t-00", op); err != nil {
					t.Fatal(err)
				}
			}
			p := wantStateOf(t, w, "t-00", workflow.Running)
			if p.DeadLetters != 1 || p.Wake != 6 || !w.Queue.Has("t-00/transactions/6") {
				t.Errorf("%d dead letters, wake %d, want 1 and 6:\n%s", p.DeadLetters, p.Wake, enginetest.Describe(p))
			}
			w.Settle()
			if p := wantStateOf(t, w, "t-00", workflow.Completed); p.DeadLetters != 0 {
				t.Errorf("%d dead letters are counted beside results", p.DeadLetters)
			}
		})
	}
}

// Ensure that outages between which the transaction gets on never add up.
func TestDeadLettersAreForgottenByAResult(t *testing.T) {
	w := newWorld(t)
	abandon(t, w, 1)
	down := 0
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Undo || down == 0 {
			return nil
		}
		return &workflow.Outcome{Retry: workflow.RetryLater, Status: 503, Message: "not now"}
	}
	for down = 1; down <= 6; down++ {
		w.Clock.Advance(2 * time.Minute)
		die(t, w, w.Store.Get("t-00").Wake)
		p := wantStateOf(t, w, "t-00", workflow.Running)
		if p.DeadLetters != 1 {
			t.Fatalf("outage %d: %d dead letters", down, p.DeadLetters)
		}
		w.Clock.AdvanceTo(p.WakeAt.Time)
		for w.Step() {
		}
		if p := wantStateOf(t, w, "t-00", workflow.Running); p.DeadLetters != 0 {
			t.Fatalf("outage %d: %d dead letters beside a result:\n%s", down, p.DeadLetters, enginetest.Describe(p))
		}
	}
	down = 0
	w.Settle()
	wantStateOf(t, w, "t-00", workflow.Completed)
}

// Ensure that a transaction whose every message dies without the result of a call
// is Stuck, also when each delivery has taken the lease and died with it, and so
// has raised wakes behind the one that dies.
func TestPoisonIsStuck(t *testing.T) {
	for name, takes := range map[string]int{"before the lease": 0, "with the lease": 10} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			abandon(t, w, 1)
			for n := 1; n <= 4; n++ {
				wake := w.Store.Get("t-00").Wake
				for range takes {
					w.Clock.Advance(2 * time.Minute)
					if err := w.Store.Change("t-00", func(p *workflow.Progress) {
						p.Take("gone", w.Clock.Now().Add(time.Minute), engine.LeaseMargin)
					}); err != nil {
						t.Fatal(err)
					}
				}
				w.Clock.Advance(2 * time.Minute)
				die(t, w, wake)
				if p := w.Store.Get("t-00"); n < 4 && (p.State != workflow.Running || p.DeadLetters != n) {
					t.Fatalf("after %d:\n%s", n, enginetest.Describe(p))
				}
			}
			wantStateOf(t, w, "t-00", workflow.Stuck)
		})
	}
}
