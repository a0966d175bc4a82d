package engine_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// single is a business of one step.
func single() *workflow.Definition {
	return &workflow.Definition{Name: "single", Steps: []workflow.Step{fiveSteps().Steps[0]}}
}

func TestInPlaceRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []workflow.Outcome
		calls   int
		state   workflow.State
	}{
		"third time lucky":         {[]workflow.Outcome{enginetest.Unavailable("x"), enginetest.Unavailable("x")}, 3, workflow.Completed},
		"no fourth":                {[]workflow.Outcome{enginetest.Unavailable("x"), enginetest.Unavailable("x"), enginetest.Unavailable("x")}, 3, workflow.Running},
		"a refusal is final":       {[]workflow.Outcome{enginetest.Refused(404, "x")}, 1, workflow.Rejected},
		"a Retry-After goes later": {[]workflow.Outcome{enginetest.Busy(time.Second)}, 1, workflow.Running},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, single(), 1, nil)
			n := 0
			w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
				n++
				if n <= len(tc.answers) {
					return &tc.answers[n-1]
				}
				return nil
			}
			w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
			w.Step()
			p := wantState(t, w, tc.state)
			if n != tc.calls || p.Step("a").Attempts != tc.calls {
				t.Errorf("%d calls and %d attempts, want %d", n, p.Step("a").Attempts, tc.calls)
			}
			w.Settle()
		})
	}
}

// Ensure slow calls stay inside the step's time, and slow stages inside the
// invocation's: the rest is another invocation's.
func TestTimeRunsOut(t *testing.T) {
	budgets := enginetest.Budgets()
	w := enginetest.New(t, single(), 1, func(c *engine.Config) { c.Budgets.InPlaceAttempts = 100 })
	start := w.Clock.Now()
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
		if spent := w.Clock.Now().Sub(start) + budgets.CallTimeout; spent > budgets.StepTimeout {
			t.Errorf("a call that ends after %s, step time is %s", spent, budgets.StepTimeout)
		}
		w.Clock.Advance(budgets.CallTimeout)
		return new(enginetest.Unavailable("slow"))
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	wantState(t, w, workflow.Running)

	w = enginetest.New(t, fiveSteps(), 1, func(c *engine.Config) { c.Budgets.InvocationTimeout = 10 * time.Second })
	start = w.Clock.Now()
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
		w.Clock.Advance(4 * time.Second) // a call that does not keep to its time
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	p := wantState(t, w, workflow.Running)
	if p.Lease.Runner != "" || p.Laters != 0 || p.WakeAt.After(w.Clock.Now()) {
		t.Errorf("lease %v, laters %d, wake at %s: want a wake at once", p.Lease, p.Laters, p.WakeAt)
	}
	w.Settle()
	wantState(t, w, workflow.Completed)
}

// Ensure no call starts that the lease could not outlast, however late a save
// was.
func TestNoCallWithoutLease(t *testing.T) {
	w := enginetest.New(t, fiveSteps(), 1, func(c *engine.Config) { c.Budgets.InvocationTimeout = time.Hour })
	slow := true
	w.Gate.Decide = func(effect string, n int) workflowtest.Fate {
		if effect == "replace t" && slow {
			slow = false
			w.Clock.Advance(58 * time.Second)
		}
		return workflowtest.Pass
	}
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		p := w.Store.Get("t")
		if left := p.Lease.Until.Sub(w.Clock.Now()); left < enginetest.Budgets().CallTimeout+engine.LeaseMargin {
			t.Errorf("call %s with %s of the lease left", req.Call.Path, left)
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	wantState(t, w, workflow.Completed)
	if slow {
		t.Error("no save was slow")
	}
}

// Ensure a host that stops gets its results saved, and hands the rest on.
func TestStoppingHost(t *testing.T) {
	w := world(t)
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int32
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
		if calls.Add(1) == 2 { // both of the first stage are under way
			stop()
		}
		return nil
	}
	if err := w.Engine.Schedule(ctx, w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())); err != nil {
		t.Fatal(err)
	}
	p := wantState(t, w, workflow.Running)
	if p.Lease.Runner != "" || len(p.Marked()) != 0 || !w.Queue.Has("t/transactions/2") {
		t.Errorf("not handed on:\n%s", enginetest.Describe(p))
	}
	w.Backends.OnCall = nil
	w.Settle()
	wantState(t, w, workflow.Completed)
}

// Ensure that an invocation goes on with a stage for whose calls it has time, though a
// later one has a call for which it has none.
func TestAStageHasTheTimeOfItsOwnSteps(t *testing.T) {
	d := fiveSteps()
	d.Steps[4].CallTimeout = 8 * time.Second
	w := enginetest.New(t, d, 1, func(c *engine.Config) { c.Budgets.InvocationTimeout = 11 * time.Second })
	w.Backends.OnCall = func(a engine.Attempt) *workflow.Outcome {
		if a.Step == "a" {
			w.Clock.Advance(4 * time.Second) // 7 s are left: e is another invocation's
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	p := wantState(t, w, workflow.Running)
	for step, attempts := range map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 0} {
		if got := p.Step(step).Attempts; got != attempts {
			t.Errorf("%s was called %d times, want %d", step, got, attempts)
		}
	}
	if p.Lease.Runner != "" {
		t.Error("the lease is kept")
	}
	w.Settle()
	wantState(t, w, workflow.Completed)
}

// Ensure a step's own call time-out goes with its calls and into what an invocation has
// time for, and that one that fits nowhere is refused at start.
func TestCallTimeoutOfAStep(t *testing.T) {
	slow := func(timeout time.Duration) *workflow.Definition {
		d := fiveSteps()
		d.Steps[2].CallTimeout = timeout
		return d
	}
	budgets := enginetest.Budgets()
	w := enginetest.New(t, slow(8*time.Second), 1, nil)
	got := map[string]time.Duration{}
	var mu sync.Mutex
	w.Backends.OnCall = func(a engine.Attempt) *workflow.Outcome {
		mu.Lock()
		defer mu.Unlock()
		got[a.Step] = a.Timeout
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Settle()
	want := map[string]time.Duration{"a": budgets.CallTimeout, "b": budgets.CallTimeout, "c": 8 * time.Second, "d": budgets.CallTimeout, "e": budgets.CallTimeout}
	if !maps.Equal(got, want) {
		t.Errorf("time-outs %v, want %v", got, want)
	}

	w = enginetest.New(t, slow(8*time.Second), 1, func(c *engine.Config) { c.Budgets.InvocationTimeout = 11 * time.Second })
	w.Backends.OnCall = func(a engine.Attempt) *workflow.Outcome {
		if a.Step == "a" {
			w.Clock.Advance(4 * time.Second) // 7 s are left: c is another invocation's
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	if p := wantState(t, w, workflow.Running); p.Step("c").Attempts != 0 || p.Lease.Runner != "" {
		t.Errorf("c was called %d times, lease %v", p.Step("c").Attempts, p.Lease)
	}
	w.Settle()
	wantState(t, w, workflow.Completed)

	for timeout, why := range map[time.Duration]string{11 * time.Second: "longer than a step's", 56 * time.Second: "leaves no room"} {
		c := w.Engine.Config
		c.Definition = slow(timeout)
		if timeout > 55*time.Second {
			c.Budgets.StepTimeout, c.Budgets.InvocationTimeout = time.Minute, time.Minute
		}
		if _, err := engine.New(c); err == nil || !strings.Contains(err.Error(), "step c: ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want that step c's call %s", timeout, err, why)
		}
	}
}
