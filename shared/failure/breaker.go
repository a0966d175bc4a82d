package failure

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// Breaker says when a service that fails is left alone, and when it is tried again.
// All fields are required.
type Breaker struct {
	// FailureRatio is the share of the calls of the latest Window that must have
	// failed, in (0,1].
	FailureRatio float64
	MinCalls     int           // that there must be in Window
	Window       time.Duration // how far back calls count, several times as long as a call
	// Delay is how long an open breaker lets no call through. Up to a quarter is added
	// at random, so that the instances don't try again in step. It must not be shorter
	// than a call: so the calls from before the opening have ended when the next ones
	// are tried, and are not taken for them.
	Delay time.Duration
	// Probes is how many calls an open breaker lets through after Delay. When all
	// succeed it closes, at the first failure it stays open for another Delay.
	Probes int
}

// Circuit is the breaker of one service. It keeps time by the process's clock.
type Circuit struct {
	circuitbreaker.CircuitBreaker[any]
}

// Build returns a closed breaker. changed is told of each change of its state.
func (b Breaker) Build(changed func(circuitbreaker.StateChangedEvent)) Circuit {
	return Circuit{circuitbreaker.NewBuilder[any]().
		WithFailureRateThreshold(b.FailureRatio, uint(b.MinCalls), b.Window).
		WithRandomDelay(b.Delay, b.Delay+b.Delay/4).
		WithSuccessThreshold(uint(b.Probes)).
		OnStateChanged(changed).
		Build()}
}

// Record tells the breaker what became of a call that it has let through. A caller that
// gave up on a call that failed says nothing about the service; but a probe must have
// a result all the same, or its permit would be lost for ever.
func (c Circuit) Record(ctx context.Context, failed, down bool) {
	switch {
	case failed && errors.Is(ctx.Err(), context.Canceled):
		if c.IsHalfOpen() {
			c.RecordFailure()
		}
	case down:
		c.RecordFailure()
	default:
		c.RecordSuccess()
	}
}
