package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// operationsPath is where the operators' paths begin.
const operationsPath = "operations"

func (a *App) operationsEndpoints() []endpoint {
	const transactions, entries = operationsPath + "/transactions", operationsPath + "/quarantine"
	const transaction, entry = transactions + "/{id}", entries + "/{source}/{id}"
	s := a.services.operate
	onTransaction := func(act func(context.Context, string, operate.Actor) (operate.Acted, error), read func([]byte) (operate.Actor, error)) http.Handler {
		return acting(a, read, func(ctx context.Context, r *http.Request, by operate.Actor) (acted operate.Acted, err error) {
			id, err := knownID(r, "id")
			if err != nil {
				return acted, err
			}
			by.Principal = callerOf(r)
			return act(ctx, id, by)
		})
	}
	onEntry := func(act func(ctx context.Context, source, id string, by operate.Actor) (operate.EntryActed, error)) http.Handler {
		return acting(a, operate.ReadWhy, func(ctx context.Context, r *http.Request, by operate.Actor) (operate.EntryActed, error) {
			by.Principal = callerOf(r)
			return act(ctx, mux.Vars(r)["source"], mux.Vars(r)["id"], by)
		})
	}
	return []endpoint{
		{http.MethodGet, transactions, pages(a, a.listTransactions)},
		{http.MethodGet, transaction, fresh(a, a.tellStory)},
		{http.MethodPost, transaction + "/" + operate.ActRetry, onTransaction(s.Retry, operate.ReadWhy)},
		{http.MethodPost, transaction + "/" + operate.ActGiveUp, onTransaction(s.GiveUp, operate.ReadNote)},
		{http.MethodGet, entries, pages(a, a.listEntries)},
		{http.MethodGet, entry, fresh(a, a.showEntry)},
		{http.MethodPost, entry + "/" + string(quarantine.ActRedrive), onEntry(s.Redrive)},
		{http.MethodPost, entry + "/" + string(quarantine.ActDrop), onEntry(s.Drop)},
		{http.MethodGet, operationsPath + "/partitions", pages(a, a.listPartitions)},
		{http.MethodPost, operationsPath + "/replay", acting(a, relay.ReadAgain, a.replay)},
		{http.MethodGet, operationsPath + "/shards", a.answering(a.showShards)},
		{http.MethodPost, operationsPath + "/shards", a.answering(a.changeShards)},
	}
}

func (a *App) listTransactions(r *http.Request) ([]operate.Summary, string, error) {
	query := r.URL.Query()
	state := workflow.Stuck
	if query.Has("state") {
		state = workflow.State(query.Get("state"))
	}
	if !slices.Contains(workflow.States, state) {
		return nil, "", problem.OneOf("state", workflow.States)
	}
	return a.services.operate.List(r.Context(), state, query.Get("continuation"))
}

func (a *App) tellStory(r *http.Request) (operate.Story, error) {
	id, err := knownID(r, "id")
	if err != nil {
		return operate.Story{}, err
	}
	return a.services.operate.Story(r.Context(), id)
}

func (a *App) listEntries(r *http.Request) ([]quarantine.Entry, string, error) {
	query := r.URL.Query()
	filter := quarantine.Filter{
		Source: query.Get("source"), Reason: query.Get("reason"), State: quarantine.State(query.Get("state")),
	}
	if query.Has("state") && !slices.Contains(quarantine.States, filter.State) {
		return nil, "", problem.OneOf("state", quarantine.States)
	}
	return a.services.operate.Entries(r.Context(), filter, query.Get("continuation"))
}

func (a *App) showEntry(r *http.Request) (quarantine.Entry, error) {
	return a.services.operate.Entry(r.Context(), mux.Vars(r)["source"], mux.Vars(r)["id"])
}

func (a *App) listPartitions(r *http.Request) ([]relay.Partition, string, error) {
	list, err := a.services.relay.Partitions(r.Context())
	return list, "", err
}

func (a *App) replay(ctx context.Context, r *http.Request, again relay.Again) (relay.Replayed, error) {
	again.By = callerOf(r)
	return a.services.relay.Replay(ctx, again)
}

// fresh answers 200 with what read returns.
func fresh[T any](a *App, read func(*http.Request) (T, error)) http.Handler {
	return a.answering(func(w http.ResponseWriter, r *http.Request) error {
		value, err := read(r)
		if err != nil {
			return err
		}
		return answerFresh(w, value)
	})
}

// pages answers 200 with the page that list returns, as it is.
func pages[T any](a *App, list func(*http.Request) (page []T, next string, err error)) http.Handler {
	return fresh(a, func(r *http.Request) (record.Page[T], error) {
		page, next, err := list(r)
		return record.Page[T]{Items: append([]T{}, page...), Continuation: next}, err
	})
}

// acting answers 200 with what has become of an act. An act that was begun is
// ended, whether its operator still waits for the answer or not.
func acting[B, R any](a *App, read func(body []byte) (B, error), act func(ctx context.Context, r *http.Request, b B) (R, error)) http.Handler {
	return a.answering(func(w http.ResponseWriter, r *http.Request) error {
		body, p := problem.ReadBody(w, r, engine.MaxBody)
		if p != nil {
			return p
		}
		asked, err := read(body)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), a.settings.Budgets.Invocation)
		defer cancel()
		acted, err := act(ctx, r, asked)
		if err != nil {
			return refusedAct(err)
		}
		return answerFresh(w, acted)
	})
}

// refusedAct says why an act was refused, and how things stand.
func refusedAct(err error) error {
	var refused *operate.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	p := problem.New(problem.Conflict, "%s", refused.Reason)
	p.Extensions = map[string]any{"id": refused.ID, "state": refused.State}
	return p
}
