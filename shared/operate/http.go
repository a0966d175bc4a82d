package operate

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Path is where the operators' paths begin.
const Path = "operations"

// Hub is what operators see and ask of the hub. *relay.Service is one.
type Hub interface {
	Partitions(ctx context.Context) ([]relay.Partition, error)
	Replay(ctx context.Context, again relay.Again) (relay.Replayed, error)
	Behind(ctx context.Context) (int64, error)
}

// Shards is the map of the shards. *ingest.Shards is one.
type Shards interface {
	Map(ctx context.Context) (*shard.Map, time.Time)
	Change(ctx context.Context, c shard.Change, by, why string) (*shard.Map, string, bool, error)
}

// Endpoints are those of the function Operations.
func (s *Service) Endpoints() []business.Endpoint {
	const transactions, entries = Path + "/transactions", Path + "/quarantine"
	const transaction, entry = transactions + "/{id}", entries + "/{source}/{id}"
	onTransaction := func(act func(context.Context, string, Actor) (Acted, error), read func([]byte) (Actor, error)) answer {
		return acting(s, read, func(ctx context.Context, r *http.Request, by Actor) (acted Acted, err error) {
			id, err := record.KnownID(r, "id")
			if err != nil {
				return acted, err
			}
			by.Principal = principal(r)
			acted, err = act(ctx, id, by)
			return acted, s.here(ctx, id, err)
		})
	}
	onEntry := func(act func(ctx context.Context, source, id string, by Actor) (EntryActed, error)) answer {
		return acting(s, ReadWhy, func(ctx context.Context, r *http.Request, by Actor) (EntryActed, error) {
			by.Principal = principal(r)
			return act(ctx, mux.Vars(r)["source"], mux.Vars(r)["id"], by)
		})
	}
	return []business.Endpoint{
		{Method: http.MethodGet, Path: Path + "/status", Handle: fresh(func(r *http.Request) (Status, error) { return s.Status(r.Context()) })},
		{Method: http.MethodGet, Path: transactions, Handle: pages(s.listTransactions)},
		{Method: http.MethodGet, Path: transaction, Handle: fresh(s.tellStory)},
		{Method: http.MethodPost, Path: transaction + "/" + ActRetry, Handle: onTransaction(s.Retry, ReadWhy)},
		{Method: http.MethodPost, Path: transaction + "/" + ActGiveUp, Handle: onTransaction(s.GiveUp, ReadNote)},
		{Method: http.MethodPost, Path: transaction + "/" + ActWake, Handle: onTransaction(s.Wake, ReadWhy)},
		{Method: http.MethodPost, Path: Path + "/acts", Handle: acting(s, ReadActs, s.actOnAll)},
		{Method: http.MethodGet, Path: entries, Handle: pages(s.listEntries)},
		{Method: http.MethodGet, Path: entry, Handle: fresh(s.showEntry)},
		{Method: http.MethodPost, Path: entry + "/" + string(quarantine.ActRedrive), Handle: onEntry(s.Redrive)},
		{Method: http.MethodPost, Path: entry + "/" + string(quarantine.ActDrop), Handle: onEntry(s.Drop)},
		{Method: http.MethodGet, Path: Path + "/partitions", Handle: pages(s.listPartitions)},
		{Method: http.MethodPost, Path: Path + "/replay", Handle: acting(s, relay.ReadAgain, s.replay)},
		{Method: http.MethodGet, Path: Path + "/left", Handle: fresh(s.showLeft)},
		{Method: http.MethodGet, Path: Path + "/shards", Handle: fresh(s.showShards)},
		{Method: http.MethodPost, Path: Path + "/shards", Handle: s.changeShards},
	}
}

// answer answers a request, or returns the error that it is answered with.
type answer = func(w http.ResponseWriter, r *http.Request) error

// principal is the id of the operator that a token has proved, "" without tokens.
func principal(r *http.Request) string {
	caller, _ := auth.CallerIn(r.Context())
	return caller.ID
}

func (s *Service) listTransactions(r *http.Request) ([]Summary, string, error) {
	query := r.URL.Query()
	search, err := ReadSearch(query)
	if err != nil {
		return nil, "", err
	}
	if search != "" {
		return s.Search(r.Context(), search, query.Get("continuation"))
	}
	filter, err := s.ReadFilter(query)
	if err != nil {
		return nil, "", err
	}
	return s.List(r.Context(), filter, query.Get("continuation"))
}

func (s *Service) tellStory(r *http.Request) (Story, error) {
	id, err := record.KnownID(r, "id")
	if err != nil {
		return Story{}, err
	}
	story, err := s.Story(r.Context(), id)
	return story, s.here(r.Context(), id, err)
}

func (s *Service) listEntries(r *http.Request) ([]quarantine.Entry, string, error) {
	query := r.URL.Query()
	filter := quarantine.Filter{
		Source: query.Get("source"), Reason: query.Get("reason"), State: quarantine.State(query.Get("state")),
	}
	if query.Has("state") && !slices.Contains(quarantine.States, filter.State) {
		return nil, "", problem.OneOf("state", quarantine.States)
	}
	return s.Entries(r.Context(), filter, query.Get("continuation"))
}

func (s *Service) showEntry(r *http.Request) (quarantine.Entry, error) {
	return s.Entry(r.Context(), mux.Vars(r)["source"], mux.Vars(r)["id"])
}

func (s *Service) listPartitions(r *http.Request) ([]relay.Partition, string, error) {
	list, err := s.c.Hub.Partitions(r.Context())
	return list, "", err
}

func (s *Service) replay(ctx context.Context, r *http.Request, again relay.Again) (relay.Replayed, error) {
	again.By = principal(r)
	return s.c.Hub.Replay(ctx, again)
}

func (s *Service) actOnAll(ctx context.Context, r *http.Request, a Acts) (record.Page[Result], error) {
	a.By.Principal = principal(r)
	return record.Page[Result]{Items: s.ActOnAll(ctx, a)}, nil
}

// fresh answers 200 with what read returns.
func fresh[T any](read func(*http.Request) (T, error)) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		value, err := read(r)
		if err != nil {
			return err
		}
		return record.WriteFresh(w, value)
	}
}

// pages answers 200 with the page that list returns, as it is.
func pages[T any](list func(*http.Request) (page []T, next string, err error)) answer {
	return fresh(func(r *http.Request) (record.Page[T], error) {
		page, next, err := list(r)
		return record.Page[T]{Items: append([]T{}, page...), Continuation: next}, err
	})
}

// acting answers 200 with what has become of an act. An act that was begun is
// ended, whether its operator still waits for the answer or not.
func acting[B, R any](s *Service, read func(body []byte) (B, error), act func(ctx context.Context, r *http.Request, b B) (R, error)) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, p := problem.ReadBody(w, r, engine.MaxBody)
		if p != nil {
			return p
		}
		asked, err := read(body)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.c.Engine.Budgets.InvocationTimeout)
		defer cancel()
		acted, err := act(ctx, r, asked)
		if err != nil {
			return refusedAct(err)
		}
		return record.WriteFresh(w, acted)
	}
}

// refusedAct says why an act was refused, and how things stand.
func refusedAct(err error) error {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	p := problem.New(problem.Conflict, "%s", refused.Reason)
	p.Extensions = map[string]any{"id": refused.ID, "state": refused.State}
	return p
}

const refreshSeconds = int(ingest.MapRefresh / time.Second)

func (s *Service) showShards(r *http.Request) (ShardsView, error) {
	m, at := s.c.Shards.Map(r.Context())
	return ShardsView{Map: m, ReadAt: at, RefreshSeconds: refreshSeconds, LastingSeconds: int(s.c.Lasting / time.Second)}, nil
}

// changeShards makes an operator's change of the map.
func (s *Service) changeShards(w http.ResponseWriter, r *http.Request) error {
	body, p := problem.ReadBody(w, r, engine.MaxBody)
	if p != nil {
		return p
	}
	change, by, err := ReadChange(body)
	if err != nil {
		return err
	}
	by.Principal = principal(r)
	m, said, made, err := s.c.Shards.Change(context.WithoutCancel(r.Context()), change, by.Name(), by.Why)
	var refused shard.RefusedError
	if errors.As(err, &refused) {
		return problem.New(problem.Conflict, "%s", refused)
	}
	if err != nil {
		return err
	}
	return record.WriteFresh(w, ShardsChanged{Result: said, Changed: made, Version: m.Version, RefreshSeconds: refreshSeconds})
}
