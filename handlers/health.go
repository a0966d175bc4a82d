package main

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// live says that the process answers. It asks nobody else: an outage of a
// service is no reason to restart the handler.
func live(w http.ResponseWriter, _ *http.Request) error {
	return record.WriteJSON(w, http.StatusOK, map[string]string{"status": "live"})
}

// ready answers 200 if every service is there (degraded if other shards aren't, or something urgent is
// unusual), and 503 otherwise. Anyone may call it: it says which check fails, not how, and this app's shard.
func (a *App) ready(w http.ResponseWriter, r *http.Request) error {
	results, state := a.readiness.Ask(r.Context())
	if state == customhandler.Unready {
		p := problem.New(problem.Unavailable, "a service is out of reach")
		p.RetryAfter = customhandler.ChecksHold
		p.Extensions = map[string]any{"checks": results, operate.ShardMember: a.settings.Shard}
		return p
	}
	return record.WriteJSON(w, http.StatusOK, map[string]any{"status": state, "checks": results, operate.ShardMember: a.settings.Shard})
}
