package record

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// The headers with which a workflow says on whose behalf it calls.
const (
	HeaderTransaction = "Transaction-Id"
	HeaderOperation   = "Operation-Id"
	HeaderRevision    = "Revision"
)

// HeaderChanged is "true" in the answer to a PUT or DELETE that has changed what is
// stored. A repeat that has found all as it should be has no such header.
const HeaderChanged = "Record-Changed"

// MaxBody is the largest body that the backends read, in bytes.
const MaxBody = 64 << 10

// Caller returns on whose behalf r is made. Transaction-Id is required,
// Revision is 1 if it is missing. The error is a *problem.Problem.
func Caller(r *http.Request) (By, error) {
	by := By{
		TransactionID: r.Header.Get(HeaderTransaction),
		OperationID:   r.Header.Get(HeaderOperation),
		Revision:      1,
	}
	if !problem.ValidID(by.TransactionID) {
		return By{}, problem.New(problem.Invalid, "header %s %s", HeaderTransaction, problem.IDRule)
	}
	if by.OperationID != "" && !problem.ValidID(by.OperationID) {
		return By{}, problem.New(problem.Invalid, "header %s %s", HeaderOperation, problem.IDRule)
	}
	if text := r.Header.Get(HeaderRevision); text != "" {
		revision, err := strconv.Atoi(text)
		if err != nil || revision < 1 {
			return By{}, problem.New(problem.Invalid, "header %s must be a whole number from 1", HeaderRevision)
		}
		by.Revision = revision
	}
	return by, nil
}

// PathID returns the variable "id" of the request's path. The error is a
// *problem.Problem if it is no id.
func PathID(r *http.Request) (string, error) {
	id := mux.Vars(r)["id"]
	if !problem.ValidID(id) {
		return "", problem.New(problem.Invalid, "the id in the path %s", problem.IDRule)
	}
	return id, nil
}

// KnownID returns a variable of the path. What has not the form of an id was
// never accepted: NotFound.
func KnownID(r *http.Request, name string) (string, error) {
	id := mux.Vars(r)[name]
	if !problem.ValidID(id) {
		return "", failure.New(failure.NotFound, "read "+name, "", nil)
	}
	return id, nil
}

// ReadCall returns the id and the caller of a PUT or DELETE.
func ReadCall(r *http.Request) (string, By, error) {
	id, err := PathID(r)
	if err != nil {
		return "", By{}, err
	}
	by, err := Caller(r)
	return id, by, err
}

// ReadBody reads the JSON body of r into the value that into points to. The
// error is a *problem.Problem.
func ReadBody(w http.ResponseWriter, r *http.Request, into any) error {
	if p := problem.ReadJSON(w, r, MaxBody, into); p != nil {
		return p
	}
	return nil
}

// WriteJSON answers with a JSON value.
func WriteJSON(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	// A client that is gone can't be told that it is.
	_, _ = w.Write(data)
	return nil
}

// WriteFresh answers 200 with a JSON value that must not be kept by anyone on the
// way.
func WriteFresh(w http.ResponseWriter, view any) error {
	w.Header().Set("Cache-Control", "no-store")
	return WriteJSON(w, http.StatusOK, view)
}
