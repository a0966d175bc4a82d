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
}

// Readiness tells whether the services are there on which the handler stands. It
// is safe for concurrent use.
type Readiness struct {
	checks []Check
	now    func() time.Time
	logger *slog.Logger

	turn    sync.Mutex // held while the services are asked
	at      time.Time  // of results
	results map[string]string
	ok      bool
}

// NewReadiness returns a Readiness. Why a check fails goes to the logger alone.
func NewReadiness(checks []Check, now func() time.Time, logger *slog.Logger) *Readiness {
	return &Readiness{checks: checks, now: now, logger: logger}
}

// Ask returns the outcome of each check by name, "ok" or "failed", and whether all
// are ok. The results are not older than ChecksHold. They don't depend on whether the caller who happens to cause them stays.
func (h *Readiness) Ask(ctx context.Context) (results map[string]string, ok bool) {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.results != nil && h.now().Sub(h.at) < ChecksHold {
		return h.results, h.ok
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	errs := make([]error, len(h.checks))
	var asked sync.WaitGroup
	for i, c := range h.checks {
		asked.Go(func() { errs[i] = c.Ask(ctx) })
	}
	asked.Wait()
	results, ok = map[string]string{}, true
	for i, c := range h.checks {
		results[c.Name] = "ok"
		if errs[i] != nil {
			results[c.Name], ok = "failed", false
			h.logger.WarnContext(ctx, "service out of reach", "service", c.Name, telemetry.KeyError, errs[i])
		}
	}
	h.results, h.ok, h.at = results, ok, h.now()
	return results, ok
}
