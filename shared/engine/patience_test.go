package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure that nothing begins after the patience of the one who waits: the stage under
// way is saved, and a message that is due at once has the rest done.
func TestPatience(t *testing.T) {
	for name, tc := range map[string]struct {
		slow  time.Duration // each call
		busy  int           // calls of the hotel that fail first
		calls []string
		due   int // messages, then
	}{
		"quick":          {100 * time.Millisecond, 0, []string{"PUT hotels/t", "PUT flights/t", "PUT payments/t"}, 0},
		"slow":           {time.Second, 0, []string{"PUT hotels/t"}, 1},
		"slow later":     {600 * time.Millisecond, 0, []string{"PUT hotels/t", "PUT flights/t"}, 1},
		"repeats":        {100 * time.Millisecond, 1, []string{"PUT hotels/t", "PUT hotels/t", "PUT flights/t", "PUT payments/t"}, 0},
		"a slow failure": {time.Second, 1, []string{"PUT hotels/t"}, 0},
		"a late repeat":  {950 * time.Millisecond, 1, []string{"PUT hotels/t"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, journey(), 1, nil)
			w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
				w.Clock.Advance(tc.slow)
				if tc.busy--; req.Step == "hotel" && tc.busy >= 0 {
					return &workflow.Outcome{Retry: workflow.RetryLater, Status: 503, Message: "not now"}
				}
				return nil
			}
			e := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
			if err := w.Engine.ScheduleWithin(t.Context(), e, time.Second); err != nil {
				t.Fatal(err)
			}
			wantCalls(t, w, tc.calls...)
			p := w.Store.Get("t")
			if p.Lease.Runner != "" || len(p.Marked()) > 0 {
				t.Errorf("left with lease %v, marked %v", p.Lease, p.Marked())
			}
			if due := len(w.Queue.Receivable()); due != tc.due {
				t.Errorf("%d messages are due, want %d", due, tc.due)
			}
			w.Settle()
			wantState(t, w, workflow.Completed)
		})
	}
}

// Ensure that an operation that comes again is told of once, has no effect, and costs
// a read, with a refused create before it if it is a start; and that a write whose
// answer was lost is no repeat.
func TestAnOperationThatComesAgainIsRecognized(t *testing.T) {
	recognized, losing := 0, false
	w := enginetest.New(t, journey(), 1, func(c *engine.Config) { c.Recognized = func(context.Context) { recognized++ } })
	w.Gate.Decide = func(effect string, n int) workflowtest.Fate {
		if effect == "create t" && n == 1 || losing && strings.HasPrefix(effect, "replace t") {
			losing = false
			return workflowtest.Lose
		}
		return workflowtest.Pass
	}
	start, cancel := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()), w.Operation(workflow.OperationCancel, "t", "op-2", nil)
	run := func(e engine.Envelope) []string {
		t.Helper()
		before := len(w.Gate.Effects())
		if err := w.Engine.ScheduleWithin(t.Context(), e, time.Second); err != nil {
			t.Fatal(err)
		}
		w.Settle()
		return w.Gate.Effects()[before:]
	}
	run(start)
	wantState(t, w, workflow.Completed)
	if again := run(start); recognized != 1 || len(again) != 2 || !strings.HasPrefix(again[0], "create t ") || !strings.HasPrefix(again[1], "read t ") {
		t.Errorf("the start was recognized %d times, with the effects %v", recognized, again)
	}
	run(cancel)
	wantState(t, w, workflow.Cancelled)
	if again := run(cancel); recognized != 2 || len(again) != 1 || !strings.HasPrefix(again[0], "read t ") {
		t.Errorf("start and cancel were recognized %d times, the cancel with the effects %v", recognized, again)
	}
	losing = true
	if run(w.Operation(workflow.OperationCancel, "t", "op-3", nil)); recognized != 2 || losing {
		t.Errorf("the write of a late cancel, whose answer was lost, was taken for a repeat")
	}
}
