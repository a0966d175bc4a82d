package main

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// trackRetry is when to come again while the backend can't be had.
const trackRetry = 2 * time.Second

// trackingEndpoints let a client follow its delivery and confirm it: in Azure only
// the workflow may call the backends.
func (a *App) trackingEndpoints() []endpoint {
	var out []endpoint
	for _, t := range delivery.Trackings() {
		out = append(out, endpoint{t.Method, requestsPath + "/{id}/" + t.Part, a.answering(a.track(t))})
	}
	return out
}

// track passes a call on for the owner of the transaction. For everyone else there
// is none, and the backend is not asked.
func (a *App) track(t delivery.Tracking) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := knownID(r, "id")
		if err != nil {
			return err
		}
		var body []byte
		if t.Method != http.MethodGet {
			var p *problem.Problem
			if body, p = problem.ReadBody(w, r, engine.MaxBody); p != nil {
				return p
			}
		}
		view, err := a.services.progress.Get(r.Context(), id, callerOf(r.Context()))
		if err != nil {
			return err
		}
		if !view.Observed {
			return failure.New(failure.NotFound, "track delivery", id, errors.New("there is no delivery yet"))
		}
		o := a.services.tracking.Do(r.Context(), engine.Request{TransactionID: id, Call: t.Call(id, body)})
		if err := refused(id, o); err != nil {
			return err
		}
		if o.Result == nil {
			w.WriteHeader(o.Status)
			return nil
		}
		return answerFresh(w, o.Result)
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
		Op: "track delivery", ID: id, RetryAfter: max(o.RetryAfter, trackRetry), Err: errors.New(o.Type + ": " + o.Message),
	}
}
