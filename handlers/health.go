package main

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// live says that the process answers. It asks nobody else: an outage of a
// service is no reason to restart the handler.
func live(w http.ResponseWriter, _ *http.Request) error {
	return record.WriteJSON(w, http.StatusOK, map[string]string{"status": "live"})
}

// ready answers 200 if every service is there and 503 if one is not. Anyone may
// call it, so it says which service fails and not how.
func (a *App) ready(w http.ResponseWriter, r *http.Request) error {
	results, ok := a.readiness.Ask(r.Context())
	if !ok {
		p := problem.New(problem.Unavailable, "a service is out of reach")
		p.RetryAfter = customhandler.ChecksHold
		p.Extensions = map[string]any{"checks": results}
		return p
	}
	return record.WriteJSON(w, http.StatusOK, map[string]any{"status": "ready", "checks": results})
}
