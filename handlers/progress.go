package main

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

func (a *App) progressEndpoints() []endpoint {
	transaction := func(w http.ResponseWriter, r *http.Request) error {
		id, err := knownID(r, "id")
		if err != nil {
			return err
		}
		view, err := a.services.progress.Get(r.Context(), id, callerOf(r))
		if err != nil {
			return err
		}
		return answerFresh(w, view)
	}
	operation := func(w http.ResponseWriter, r *http.Request) error {
		id, err := knownID(r, "id")
		if err != nil {
			return err
		}
		operationID, err := knownID(r, "operationId")
		if err != nil {
			return err
		}
		view, err := a.services.progress.GetOperation(r.Context(), id, operationID, callerOf(r))
		if err != nil {
			return err
		}
		return answerFresh(w, view)
	}
	return append([]endpoint{
		{http.MethodGet, a.business.Resource + "/{id}", a.answering(transaction)},
		{http.MethodGet, a.business.Resource + "/{id}/operations/{operationId}", a.answering(operation)},
	}, a.viewEndpoints()...)
}

// knownID returns a variable of the path. What has not the form of an id was
// never accepted.
func knownID(r *http.Request, name string) (string, error) {
	id := mux.Vars(r)[name]
	if !problem.ValidID(id) {
		return "", failure.New(failure.NotFound, "read "+name, "", nil)
	}
	return id, nil
}

// answerFresh answers with what must not be kept by anyone on the way.
func answerFresh(w http.ResponseWriter, view any) error {
	w.Header().Set("Cache-Control", "no-store")
	return record.WriteJSON(w, http.StatusOK, view)
}
