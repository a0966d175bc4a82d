package backendclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Limits are the limits of a Guard for each backend. All fields but Own are required.
type Limits struct {
	// CallTimeout is the time that an attempt without a time-out of its own has in all.
	// An attempt waits for a free place for half of its time at most; who waited for
	// longer would have too little time left for the call.
	CallTimeout time.Duration
	Concurrency int // calls under way at most
	// Own is the Concurrency of the backends that have another one, by name.
	Own     map[string]uint
	Breaker failure.Breaker
}

// Guard stands before a caller, and keeps apart the backends that it calls: a
// slow one does not take all the places, and one that is down is left alone for
// a while instead of being called by every transaction that needs it. The calls
// and the undo calls of a backend share its limits, since they meet the same
// service. The limits hold for one process: the total is theirs times the
// instances.
//
// What it refuses was not sent. It is safe for concurrent use, and keeps time
// by the process's clock.
type Guard struct {
	next    engine.Backends
	limits  Limits
	metrics *telemetry.Metrics
	logger  *slog.Logger

	mu       sync.Mutex
	backends map[string]*protected // by name, made with the first call
}

// protected is what a Guard keeps for one backend.
type protected struct {
	places  bulkhead.Bulkhead[any]
	breaker failure.Circuit
	// opened is when the breaker opened that has not closed since; nil while it is
	// closed. Trying whether the backend is back does not close it.
	opened atomic.Pointer[time.Time]
}

// openFor returns how long it has not been closed, 0 if it is.
func (b *protected) openFor() time.Duration {
	if opened := b.opened.Load(); opened != nil {
		return time.Since(*opened)
	}
	return 0
}

var _ engine.Backends = (*Guard)(nil)

// NewGuard returns a Guard before next. It records each attempt, in a span and in
// the metrics, and logs each change of a breaker's state. The settings have judged the
// limits.
func NewGuard(next engine.Backends, l Limits, m *telemetry.Metrics, logger *slog.Logger) *Guard {
	return &Guard{next: next, limits: l, metrics: m, logger: logger, backends: map[string]*protected{}}
}

// Do makes one attempt if there is a free place for it and its backend is not
// known to be down. The time that it waits is the attempt's.
func (g *Guard) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	ctx, end := g.record(ctx, a)
	o := g.do(ctx, a)
	end(o)
	return o
}

func (g *Guard) do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	name, began := a.Call.Backend, time.Now()
	b := g.backend(name)
	timeout := cmp.Or(a.Timeout, g.limits.CallTimeout)
	if err := b.places.AcquirePermitWithMaxWait(ctx, timeout/2); err != nil {
		code := codeBusy
		if errors.Is(err, context.Canceled) {
			code = codeCancelled
		}
		return notSent(code, fmt.Errorf("wait for a free call to %s: %w", name, err))
	}
	defer b.places.ReleasePermit()
	// The permit comes last, since each must be given back with a result. While
	// the breaker is open the calls before it have a place each at once.
	if !b.breaker.TryAcquirePermit() {
		return refuse(name, b, timeout)
	}
	a.Timeout = timeout - time.Since(began)
	o := g.next.Do(ctx, a)
	b.breaker.Record(ctx, o.Retry != workflow.RetryNone, isDown(o))
	return o
}

// refuse is the verdict on a call that is not made because its backend is down.
// It comes back when there is something new: when the breaker lets calls
// through again, or when those that it has let through have ended, which take as
// long as this one.
func refuse(name string, b *protected, timeout time.Duration) workflow.Outcome {
	o := notSent(codeOpen, fmt.Errorf("too many calls to %s failed: calls pause for a while", name))
	o.RetryAfter = max(b.breaker.RemainingDelay(), timeout)
	return o
}

// isDown reports whether an outcome looks like an outage: no connection, no
// answer in time, a broken one, or one that is not the backend's word, such as
// 408, 5xx and a stopped app's 403. A service that refuses, be it because it has
// too much to do (429), is up.
func isDown(o workflow.Outcome) bool {
	return o.Retry == workflow.RetryLater && o.Status != http.StatusTooManyRequests
}

func (g *Guard) backend(name string) *protected {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.backends[name]; b != nil {
		return b
	}
	b := &protected{
		places:  bulkhead.New[any](cmp.Or(g.limits.Own[name], uint(g.limits.Concurrency))),
		breaker: g.limits.Breaker.Build(func(e circuitbreaker.StateChangedEvent) { g.changed(name, e) }),
	}
	g.backends[name] = b
	return b
}

// Open returns for each backend that was called how long its breaker has been
// open, the tries whether it can close included; 0 is closed.
func (g *Guard) Open() map[string]time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := make(map[string]time.Duration, len(g.backends))
	for name, b := range g.backends {
		open[name] = b.openFor()
	}
	return open
}

func (g *Guard) changed(name string, e circuitbreaker.StateChangedEvent) {
	b, level := g.backend(name), slog.LevelInfo
	if e.NewState == circuitbreaker.OpenState {
		level = slog.LevelWarn
		b.opened.CompareAndSwap(nil, new(time.Now()))
	}
	open := b.openFor()
	if e.NewState == circuitbreaker.ClosedState {
		b.opened.Store(nil)
	}
	g.logger.Log(e.Context(), level, "circuit breaker of a backend changed its state",
		"backend", name, telemetry.KeyDuration, open.Milliseconds(), "from", e.OldState.String(), telemetry.KeyState, e.NewState.String())
}
