package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

const (
	checkFor  = 5 * time.Second // how long the result of the checks holds
	checkTime = 3 * time.Second // what a check may take
)

// live says that the process answers. It asks nobody else: an outage of a
// service is no reason to restart the handler.
func live(w http.ResponseWriter, _ *http.Request) error {
	return record.WriteJSON(w, http.StatusOK, map[string]string{"status": "live"})
}

// check asks one service whether it is there.
type check struct {
	name string
	ask  func(context.Context) error
}

// readiness is the function Ready. Anyone may call it, so it says which service
// fails and not how, and asks the services once in checkFor at most.
type readiness struct {
	checks []check
	now    func() time.Time
	logger *slog.Logger

	turn sync.Mutex // held while the services are asked
	at   time.Time  // of results
	// results has the outcome of each check by name: "ok" or "failed".
	results map[string]string
}

func newReadiness(checks []check, now func() time.Time, logger *slog.Logger) *readiness {
	return &readiness{checks: checks, now: now, logger: logger}
}

// answer answers 200 if every service is there and 503 if one is not.
func (h *readiness) answer(w http.ResponseWriter, r *http.Request) error {
	results := h.ask(r.Context())
	for _, result := range results {
		if result != "ok" {
			p := problem.New(problem.Unavailable, "a service is out of reach")
			p.RetryAfter = checkFor
			p.Extensions = map[string]any{"checks": results}
			return p
		}
	}
	return record.WriteJSON(w, http.StatusOK, map[string]any{"status": "ready", "checks": results})
}

// ask returns results that are not older than checkFor. They don't depend on
// whether the caller who happens to cause them stays.
func (h *readiness) ask(ctx context.Context) map[string]string {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.results != nil && h.now().Sub(h.at) < checkFor {
		return h.results
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	errs := make([]error, len(h.checks))
	var asked sync.WaitGroup
	for i, c := range h.checks {
		asked.Go(func() { errs[i] = c.ask(ctx) })
	}
	asked.Wait()
	results := map[string]string{}
	for i, c := range h.checks {
		results[c.name] = "ok"
		if errs[i] != nil {
			results[c.name] = "failed"
			h.logger.WarnContext(ctx, "service out of reach", "service", c.name, telemetry.KeyError, errs[i])
		}
	}
	h.results, h.at = results, h.now()
	return results
}
