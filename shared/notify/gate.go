package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// errNotSent is the cause of an event that was not sent: its turn has not come.
var errNotSent = errors.New("not sent: the receiver is down, or too slow")

// recheck is how often an event that waits looks whether its turn has come.
const recheck = 250 * time.Millisecond

// Limits are those of the calls to one who is told. All are required.
type Limits struct {
	CallTimeout time.Duration // one call
	// Patience is how long a call waits for its turn at most: behind others, or
	// for somebody who is down. It slows down who comes with news in an
	// outage: who waits here does not come back at once.
	Patience    time.Duration
	Concurrency int // calls under way at most
	Breaker     failure.Breaker
	Log         *slog.Logger
}

func (l Limits) valid() bool {
	return l.CallTimeout > 0 && l.Patience > 0 && l.Concurrency > 0 && l.Log != nil
}

// gate lets so many calls through as the receiver bears. It keeps time by the
// process's clock.
type gate struct {
	places   bulkhead.Bulkhead[any]
	breaker  failure.Circuit
	patience time.Duration
	call     time.Duration

	mu    sync.Mutex
	quiet time.Time // until which the receiver has asked for no calls
}

// newGate returns the gate to somebody, who is named for people.
func newGate(to string, c Limits) *gate {
	return &gate{
		patience: c.Patience, call: c.CallTimeout, places: bulkhead.New[any](uint(c.Concurrency)),
		breaker: c.Breaker.Build(func(e circuitbreaker.StateChangedEvent) {
			level := slog.LevelInfo
			if e.NewState == circuitbreaker.OpenState {
				level = slog.LevelWarn
			}
			c.Log.Log(e.Context(), level, "circuit breaker of "+to+" changed its state",
				"from", e.OldState.String(), telemetry.KeyState, e.NewState.String())
		}),
	}
}

// enter waits for a turn, up to the patience and as long as ctx leaves time for
// a call. The call's answer, empty if there is none, is to be given to leave.
// The error is that there was no turn; then wait is how long there will be none
// for sure.
func (g *gate) enter(ctx context.Context) (leave func(context.Context, answer), wait time.Duration, err error) {
	end := time.Now().Add(g.patience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-g.call).Before(end) {
		end = deadline.Add(-g.call)
	}
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for {
		closed := g.closed()
		if closed == 0 {
			if leave := g.pass(waiting); leave != nil {
				return leave, 0, nil
			}
			closed = min(recheck, g.call) // the probes are under way
		}
		timer := time.NewTimer(closed)
		select {
		case <-timer.C:
		case <-waiting.Done():
			timer.Stop()
			return nil, g.closed(), errNotSent
		}
	}
}

// pass takes a place and the breaker's leave to call, nil if one can't be had.
func (g *gate) pass(ctx context.Context) func(context.Context, answer) {
	if g.places.AcquirePermit(ctx) != nil {
		return nil
	}
	// The breaker comes last, since each of its permits needs a result.
	if g.closed() > 0 || !g.breaker.TryAcquirePermit() {
		g.places.ReleasePermit()
		return nil
	}
	return func(ctx context.Context, a answer) {
		g.record(ctx, a)
		g.places.ReleasePermit()
	}
}

// closed returns for how long there will be no call, 0 if there may be one.
func (g *gate) closed() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, time.Until(g.quiet), g.breaker.RemainingDelay())
}

// record learns from a call. A receiver that has too much to do (429) counts as
// one that is down: it may not say for how long it wants to be left alone.
func (g *gate) record(ctx context.Context, a answer) {
	g.breaker.Record(ctx, a.status == 0, !a.taken())
	if a.taken() || a.retryAfter == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(a.retryAfter); until.After(g.quiet) {
		g.quiet = until
	}
}
