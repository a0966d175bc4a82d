package operate_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/operate/operatetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// A backend goes away behind an instance that works, and comes back. An instance
// that does nothing but answer operators names the step, the backend and the breaker
// within 10 seconds, and no longer 10 seconds after the end, whenever it is asked.
func TestStatusNamesTheCauseWithin10Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &operatetest.Told{Store: workflowtest.NewStore(&workflowtest.Gate{})}
		logger := slog.New(slog.DiscardHandler)
		asked := operate.New(operate.Config{
			Engine: &engine.Engine{Config: engine.Config{Definition: workflowtest.Trip(), Now: time.Now}}, Told: told, Logger: logger,
		})
		var since atomic.Pointer[time.Time] // the outage's begin; nil while there is none
		works := operate.NewReporter("a.1", time.Now)
		works.Breakers = func() map[string]time.Duration {
			down := since.Load()
			if down == nil {
				return map[string]time.Duration{"hotels": 0}
			}
			return map[string]time.Duration{"hotels": time.Since(*down)}
		}
		calls := works.Calls(backend(func() workflow.Outcome {
			if since.Load() == nil {
				return workflow.Outcome{}
			}
			return workflow.Outcome{Retry: workflow.RetryLater, Type: "open"}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); works.Run(ctx, told, logger) }()

		// named calls once a second until the status names the cause, or doesn't.
		named := func(want bool) time.Duration {
			began := time.Now()
			for time.Since(began) < time.Minute {
				calls.Do(ctx, engine.Attempt{Step: "hotel", Call: workflow.Call{Backend: "hotels"}})
				synctest.Wait()
				s, err := asked.Status(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(s.Unusual, func(u operate.Unusual) bool {
					return u.Key == "breaker.hotels" && strings.Contains(u.Says, "step hotel")
				}) == want {
					break
				}
				time.Sleep(time.Second) // of the bubble
			}
			return time.Since(began)
		}
		if named(false) != 0 {
			t.Error("all is well, and a cause is named")
		}
		for offset := range 5 {
			time.Sleep(time.Duration(offset)*time.Second + time.Minute)
			down := time.Now().Add(-time.Millisecond)
			since.Store(&down)
			if took := named(true); took > 10*time.Second {
				t.Errorf("named after %v", took)
			}
			since.Store(nil)
			if took := named(false); took > 10*time.Second {
				t.Errorf("named for %v after the end", took)
			}
		}
		cancel()
		<-done
	})
}
