package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that each call says whose attempt it is, counted over the attempts in
// place and over the wakes, and that each change of the state is told of once.
func TestAttemptsAndChangesAreTold(t *testing.T) {
	var mu sync.Mutex
	var changes []string
	w := enginetest.New(t, single(), 1, func(c *engine.Config) {
		c.Changed = func(_ context.Context, before workflow.State, p *workflow.Progress) {
			mu.Lock()
			defer mu.Unlock()
			changes = append(changes, fmt.Sprint(before, " ", p.State))
		}
	})
	var attempts []string
	w.Backends.OnCall = func(r engine.Attempt) *workflow.Outcome {
		attempts = append(attempts, fmt.Sprint(r.Step, " ", r.Number))
		if len(attempts) < 5 {
			return new(enginetest.Unavailable("x"))
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	w.Clock.Advance(time.Minute)
	w.Settle()
	wantState(t, w, workflow.Completed)
	if want := []string{"a 1", "a 2", "a 3", "a 4", "a 5"}; !slices.Equal(attempts, want) {
		t.Errorf("attempts %q, want %q", attempts, want)
	}
	if want := []string{"Accepted Running", "Running Completed"}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
}
