package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// keyHeader names a request of a caller's. Where callers are not known, all of
// them share their keys.
const keyHeader = "Idempotency-Key"

// maxKey is the largest length, in bytes, of an idempotency key.
const maxKey = 255

// invocationKey, before the id of its invocation, stands for the key of a DELETE
// that has none. The host sends a request without a body once more when the
// handler dies under it, with the same id of the invocation: so both are one
// cancel. No client can send a key with a line break.
const invocationKey = "invocation\n"

// receipt is the body of a 202.
type receipt struct {
	TransactionID string `json:"transactionId"`
	OperationID   string `json:"operationId"`
	// Repeated is true when the request was accepted before, with these ids.
	Repeated bool `json:"repeated"`
	// TransactionURL and OperationURL tell what becomes of it.
	TransactionURL string `json:"transactionUrl"`
	OperationURL   string `json:"operationUrl"`
}

func (a *App) ingestEndpoints() []endpoint {
	s, path := a.services.ingest, a.business.Resource
	return []endpoint{
		{http.MethodPost, path, a.accept(func(ctx context.Context, in ingest.Input, _, key string) (ingest.Result, error) {
			return s.Post(ctx, in, key)
		}, a.request)},
		{http.MethodPut, path + "/{id}", a.accept(func(ctx context.Context, in ingest.Input, id, _ string) (ingest.Result, error) {
			return s.Put(ctx, id, in)
		}, a.request)},
		{http.MethodPatch, path + "/{id}", a.accept(func(ctx context.Context, in ingest.Input, id, key string) (ingest.Result, error) {
			return s.Patch(ctx, id, in, key)
		}, a.change)},
		{http.MethodDelete, path + "/{id}", a.accept(func(ctx context.Context, in ingest.Input, id, key string) (ingest.Result, error) {
			return s.Delete(ctx, id, in, key)
		}, nothing)},
	}
}

// accept answers 202 when do has accepted the request. parse reads the body into
// its canonical form.
func (a *App) accept(do func(ctx context.Context, in ingest.Input, id, key string) (ingest.Result, error),
	parse func(context.Context, []byte) (json.RawMessage, error)) http.Handler {
	return a.answering(func(w http.ResponseWriter, r *http.Request) error {
		result, err := a.acceptOne(w, r, do, parse)
		if err != nil {
			return err
		}
		observe.About(r.Context(), result.TransactionID, result.OperationID)
		return a.answerReceipt(w, result)
	})
}

// throttled returns next behind a throttle. What that refuses is answered before
// anything of the request is looked at, and is counted but not logged: to refuse
// must be cheap.
func (a *App) throttled(t *ingest.Throttle, next http.Handler) http.Handler {
	busy := refusal(ingest.ErrBusy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered := time.Now()
		if !t.Enter() {
			a.report.Refused(ingest.ErrBusy)
			observe.NoteRefusal(r.Context(), busy)
			problem.Write(w, r, busy)
			return
		}
		defer func() { t.Leave(entered, time.Now()) }()
		next.ServeHTTP(w, r)
	})
}

func (a *App) acceptOne(w http.ResponseWriter, r *http.Request,
	do func(ctx context.Context, in ingest.Input, id, key string) (ingest.Result, error),
	parse func(context.Context, []byte) (json.RawMessage, error)) (ingest.Result, error) {
	id := mux.Vars(r)["id"]
	if r.Method != http.MethodPost && !problem.ValidID(id) {
		return ingest.Result{}, problem.New(problem.Invalid, "the id in the path %s", problem.IDRule)
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return ingest.Result{}, err
	}
	if invocation := r.Header.Get(customhandler.InvocationHeader); key == "" && r.Method == http.MethodDelete && invocation != "" {
		key = invocationKey + invocation
	}
	var body []byte
	if r.Method != http.MethodDelete {
		var p *problem.Problem
		if body, p = problem.ReadBody(w, r, engine.MaxBody); p != nil {
			return ingest.Result{}, p
		}
	}
	canonical, err := parse(r.Context(), body)
	if err != nil {
		return ingest.Result{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.settings.Budgets.Accept)
	defer cancel()
	return do(ctx, ingest.Input{
		Caller: callerOf(r), TraceParent: telemetry.TraceParent(ctx), Body: canonical,
	}, id, key)
}

// idempotencyKey returns the key, "" if there is none. The error is a
// *problem.Problem.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values(keyHeader)
	if len(keys) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(keys[0])
	if len(keys) > 1 || key == "" || len(key) > maxKey {
		return "", problem.New(problem.Invalid, "header %s must be one value of 1 to %d bytes", keyHeader, maxKey)
	}
	return key, nil
}

func (a *App) request(ctx context.Context, body []byte) (json.RawMessage, error) {
	r, err := a.business.Parse(body, a.settings.Business, a.now())
	if err != nil {
		return nil, err
	}
	return r.Canonical, a.mayOrder(ctx, r)
}

// mayOrder refuses a request on an account that isn't the caller's. Without tokens
// nobody knows whose it is.
func (a *App) mayOrder(ctx context.Context, r business.Request) error {
	caller, known := auth.CallerIn(ctx)
	claim := a.settings.Auth.AccountClaim
	if !known || claim == "" || r.AccountField == "" || slices.Contains(caller.Accounts, r.Account) {
		return nil
	}
	return problem.New(problem.Forbidden, "%s is no account of this caller's: the claim %s of its token doesn't name it", r.AccountField, claim)
}

func (a *App) change(_ context.Context, body []byte) (json.RawMessage, error) {
	if a.business.ParseChange == nil {
		return nil, problem.New(problem.Conflict, "what was asked for can't be changed; cancel it and ask again")
	}
	return a.business.ParseChange(body, a.settings.Business, a.now())
}

func nothing(context.Context, []byte) (json.RawMessage, error) { return nil, nil }

func (a *App) answerReceipt(w http.ResponseWriter, r ingest.Result) error {
	transaction := fmt.Sprintf("%s/%s/%s", routePrefix, a.business.Resource, r.TransactionID)
	operation := transaction + "/operations/" + r.OperationID
	w.Header().Set("Location", operation)
	return record.WriteJSON(w, http.StatusAccepted, receipt{r.TransactionID, r.OperationID, r.Repeated, transaction, operation})
}

// refusal is the problem that a refused request is answered with.
func refusal(err error) problem.Problem {
	p := problem.From(err)
	var past *ingest.PastError
	var unknown *ingest.UnacknowledgedError
	var closed *ingest.ShardClosedError
	switch {
	case errors.As(err, &closed):
		p.Detail = "what is in a closed shard can't be changed any more"
		p.Extensions = map[string]any{"transactionId": closed.TransactionID, "shard": closed.Shard}
	case errors.As(err, &past):
		p.Detail = past.Reason
		p.Extensions = map[string]any{"transactionId": past.TransactionID, "state": past.State}
	case errors.As(err, &unknown):
		p.Detail = "the request may have been accepted; please repeat it under the same id, by PUT or with the same " + keyHeader
		p.Extensions = map[string]any{"transactionId": unknown.TransactionID, "operationId": unknown.OperationID}
	case errors.Is(err, ingest.ErrKeyReused):
		p = *problem.New(problem.KeyReused, "")
	case errors.Is(err, ingest.ErrOtherContent):
		p.Detail = "the id was accepted with other content"
	case errors.Is(err, ingest.ErrBusy), errors.Is(err, ingest.ErrClosed):
		p.Detail = "nothing was accepted; please repeat the request"
	}
	return p
}
