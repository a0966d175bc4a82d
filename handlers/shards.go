package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

const refreshSeconds = int(ingest.MapRefresh / time.Second)

func (a *App) showShards(w http.ResponseWriter, r *http.Request) error {
	m, at := a.services.shards.Map(r.Context())
	return answerFresh(w, operate.ShardsView{Map: m, ReadAt: at, RefreshSeconds: refreshSeconds})
}

// changeShards makes an operator's change of the map.
func (a *App) changeShards(w http.ResponseWriter, r *http.Request) error {
	body, p := problem.ReadBody(w, r, engine.MaxBody)
	if p != nil {
		return p
	}
	change, by, err := operate.ReadChange(body)
	if err != nil {
		return err
	}
	by.Principal = callerOf(r)
	m, said, made, err := a.services.shards.Change(context.WithoutCancel(r.Context()), change, by.Name(), by.Why)
	var refused shard.RefusedError
	if errors.As(err, &refused) {
		return problem.New(problem.Conflict, "%s", refused)
	}
	if err != nil {
		return err
	}
	return answerFresh(w, operate.ShardsChanged{Result: said, Changed: made, Version: m.Version, RefreshSeconds: refreshSeconds})
}
