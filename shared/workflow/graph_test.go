package workflow_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that a backend knows the time that all of its own steps give it, and that a
// step whose call can't be looked at counts for all.
func TestShortestCall(t *testing.T) {
	to := func(backend string) func(workflow.Input) workflow.Call {
		return func(workflow.Input) workflow.Call { return workflow.Call{Backend: backend} }
	}
	d := workflow.Definition{Steps: []workflow.Step{
		{Name: "a", Call: to("quick")},
		{Name: "b", Call: to("slow"), CallTimeout: 10 * time.Second},
		{Name: "c", Call: to("slow"), CallTimeout: 8 * time.Second},
		{Name: "d", Call: to("mixed"), CallTimeout: 9 * time.Second},
		{Name: "e", Call: to("mixed")},
		{Name: "f", Call: to("quicker"), CallTimeout: time.Second},
	}}
	check := func(want map[string]time.Duration) {
		t.Helper()
		for backend, want := range want {
			if got := d.ShortestCall(backend, 2*time.Second); got != want {
				t.Errorf("%s: %v, want %v", backend, got, want)
			}
		}
	}
	check(map[string]time.Duration{
		"quick": 2 * time.Second, "slow": 8 * time.Second, "mixed": 2 * time.Second, "quicker": time.Second, "nobody's": 2 * time.Second,
	})
	d.Steps = append(d.Steps, workflow.Step{Name: "g", CallTimeout: 5 * time.Second, Call: func(workflow.Input) workflow.Call { panic("no request") }})
	check(map[string]time.Duration{"quick": 2 * time.Second, "slow": 5 * time.Second, "quicker": time.Second})
}
