package engine_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure that the log tells of the ways that are rarely taken: by its lines a
// fault-injection run knows that they were.
func TestTheLogTellsOfTheHardWays(t *testing.T) {
	var log strings.Builder
	w := enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	wantLines := func(text string, want int) {
		t.Helper()
		if n := strings.Count(log.String(), `msg="`+text+`"`); n != want {
			t.Errorf("%d lines %q, want %d:\n%s", n, text, want, log.String())
		}
	}
	body, err := w.Operation(workflow.OperationStart, "lost", "op-9", workflowtest.TripBody()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is new once
		if err := w.Engine.DeadLettered(t.Context(), "lost", body); err != nil {
			t.Fatal(err)
		}
	}
	wantLines("operation of a dead letter put on record", 1)
	w.Settle()
	wantStateOf(t, w, "lost", workflow.Completed)
	wantLines("lease taken over", 0)
	abandon(t, w, 1)
	w.Clock.Advance(2 * time.Minute)
	w.Post(workflow.OperationCancel, "t-00", "op-2", nil)
	w.Settle()
	p := wantStateOf(t, w, "t-00", workflow.Cancelled)
	wantLines("lease taken over", 1)
	unknown := 0
	for _, s := range p.Steps {
		if s.State == workflow.StepUndone && s.Effect == workflow.EffectMaybe {
			unknown++
		}
	}
	if unknown == 0 {
		t.Fatalf("nothing was undone without knowing:\n%s", enginetest.Describe(p))
	}
	wantLines("undone, whether it was done or not", unknown)
}
