package main

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// viewRetry is when to come again while the backend can't be had.
const viewRetry = 2 * time.Second

// viewEndpoints let a client reach parts of a backend's record: in Azure only the
// workflow may call the backends.
func (a *App) viewEndpoints() []endpoint {
	var out []endpoint
	for _, v := range a.business.Views {
		out = append(out, endpoint{v.Method, a.business.Resource + "/{id}/" + v.Part, a.answering(a.view(v))})
	}
	return out
}

// view passes a call on for the owner of the transaction. For everyone else there
// is none, and the backend is not asked.
func (a *App) view(v business.View) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := record.KnownID(r, "id")
		if err != nil {
			return err
		}
		var body []byte
		if v.Method != http.MethodGet {
			var p *problem.Problem
			if body, p = problem.ReadBody(w, r, engine.MaxBody); p != nil {
				return p
			}
		}
		transaction, err := a.services.progress.Get(r.Context(), id, callerOf(r))
		if err != nil {
			return err
		}
		if !transaction.Observed {
			return failure.New(failure.NotFound, "view", id, errors.New("nothing was done for it yet"))
		}
		o := a.services.views.Do(r.Context(), engine.Attempt{TransactionID: id, Call: v.Call(id, body), Timeout: a.settings.Budgets.Call})
		if err := refused(id, o); err != nil {
			return err
		}
		if o.Result == nil {
			w.WriteHeader(o.Status)
			return nil
		}
		return record.WriteFresh(w, o.Result)
	}
}

// refused returns what a backend has refused as its own problem, and any other
// failure as one that passes.
func refused(id string, o workflow.Outcome) error {
	switch o.Retry {
	case workflow.RetryNone:
		return nil
	case workflow.RetryNever:
		text := strings.TrimPrefix(o.Message, strconv.Itoa(o.Status)+" ")
		title, detail, _ := strings.Cut(text, ": ")
		return &problem.Problem{Type: o.Type, Title: title, Status: o.Status, Detail: detail}
	}
	return &failure.Error{
		Op: "view", ID: id, RetryAfter: max(o.RetryAfter, viewRetry), Err: errors.New(o.Type + ": " + o.Message),
	}
}
