package main

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/record"
)

func (a *App) progressEndpoints() []endpoint {
	transaction := func(w http.ResponseWriter, r *http.Request) error {
		id, err := record.KnownID(r, "id")
		if err != nil {
			return err
		}
		view, err := a.services.progress.Get(r.Context(), id, callerOf(r))
		if err != nil {
			return err
		}
		return record.WriteFresh(w, view)
	}
	operation := func(w http.ResponseWriter, r *http.Request) error {
		id, err := record.KnownID(r, "id")
		if err != nil {
			return err
		}
		operationID, err := record.KnownID(r, "operationId")
		if err != nil {
			return err
		}
		view, err := a.services.progress.GetOperation(r.Context(), id, operationID, callerOf(r))
		if err != nil {
			return err
		}
		return record.WriteFresh(w, view)
	}
	return append([]endpoint{
		{http.MethodGet, a.business.Resource + "/{id}", a.answering(transaction)},
		{http.MethodGet, a.business.Resource + "/{id}/operations/{operationId}", a.answering(operation)},
	}, a.viewEndpoints()...)
}
