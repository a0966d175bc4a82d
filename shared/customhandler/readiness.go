package customhandler

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

const (
	// ChecksHold is how long the results of the checks hold.
	ChecksHold = 5 * time.Second
	checkTime  = 3 * time.Second // what a check may take
)

// Check asks one service whether it is there.
type Check struct {
	Name string
	Ask  func(context.Context) error
	// Partial is set for what only a part of the requests needs.
	Partial bool
}

// State is how far the services are there.
type State string

// The states.
const (
	Ready    State = "ready"
	Degraded State = "degraded" // only a part of the requests is served
	Unready  State = "unready"
)

// Readiness tells whether the services are there on which the handler stands. It
// is safe for concurrent use.
type Readiness struct {
	checks func(context.Context) []Check
	now    func() time.Time
	logger *slog.Logger

	turn    sync.Mutex // held while the services are asked
	at      time.Time  // of results
	results map[string]string
	state   State
}

// NewReadiness returns a Readiness, which makes the checks of the time. Why one fails goes to the
// logger alone.
func NewReadiness(checks func(context.Context) []Check, now func() time.Time, logger *slog.Logger) *Readiness {
	return &Readiness{checks: checks, now: now, logger: logger}
}

// Ask returns the outcome of each check by name, "ok" or "failed", and what follows from them.
// The results are not older than ChecksHold. They don't depend on whether the caller who happens
// to cause them stays.
func (h *Readiness) Ask(ctx context.Context) (results map[string]string, state State) {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.results != nil && h.now().Sub(h.at) < ChecksHold {
		return h.results, h.state
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	checks := h.checks(ctx)
	errs := make([]error, len(checks))
	var asked sync.WaitGroup
	for i, c := range checks {
		asked.Go(func() { errs[i] = c.Ask(ctx) })
	}
	asked.Wait()
	results, state = map[string]string{}, Ready
	for i, c := range checks {
		results[c.Name] = "ok"
		if errs[i] == nil {
			continue
		}
		results[c.Name] = "failed"
		switch {
		case !c.Partial:
			state = Unready
		case state == Ready:
			state = Degraded
		}
		h.logger.WarnContext(ctx, "a check of readiness has failed", "check", c.Name, telemetry.KeyError, errs[i])
	}
	h.results, h.state, h.at = results, state, h.now()
	return results, state
}
