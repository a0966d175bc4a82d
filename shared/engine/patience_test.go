package engine_test

import (
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
