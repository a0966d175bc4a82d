// Package business has the types in which a business describes itself: the
// requests of clients, the steps of a transaction, the services behind the
// steps, and their settings. Everything else (accepting, the workflow's engine,
// the local runtime) works on a Business value and knows no step, field or
// service by name. Package chosen names the business.
//
// The package holds types and reads settings. It opens nothing.
package business

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Business is one business. It is read-only once it is made, and safe for
// concurrent use.
type Business struct {
	// Name is lower-case words with hyphens, such as "drone-delivery": the service,
	// its metrics, events and resources are named after it.
	Name string
	// Resource is the path, below the host's prefix, of what clients ask for, such
	// as "deliveryrequests".
	Resource string
	Workflow workflow.Definition
	// Parse reads a client's request, strictly: unknown fields are refused. The error
	// is a *problem.Problem that lists every field at fault. The limits that depend on
	// the settings or on the time are for clients alone: for what was accepted before, v
	// is nil, and there are none.
	Parse func(body []byte, v Values, now time.Time) (Request, error)
	// Key is the field of the canonical request by which people know a transaction
	// besides its id, with dots between its parts, such as packageInfo.packageId.
	// Operators search by it, so it has an index, which makes each write of a
	// transaction dearer. "" for none.
	Key string
	// ParseChange reads the body of a reschedule in the same way, and returns its
	// canonical form. Nil if requests can't be changed.
	ParseChange func(body []byte, v Values, now time.Time) (json.RawMessage, error)
	Backends    []Backend
	// Views are the parts of a backend's record that a client may reach through its
	// transaction.
	Views []View
	// Letters tell people what has become of a transaction, by e-mail. Nil if nobody
	// can ask for that.
	Letters  *Letters
	Settings []Setting
	// Rules returns the relations between the settings, and whether v keeps them. Nil
	// for none.
	Rules func(v Values) []Rule
	// Ahead returns for how long after it was accepted a transaction may still be
	// changed, at most. Nil if that ends with its run.
	Ahead func(v Values) time.Duration
}

// Changeable is for how long after it was accepted a transaction may be changed, at most.
func (b Business) Changeable(v Values) time.Duration {
	if b.Ahead == nil {
		return 0
	}
	return b.Ahead(v)
}

// Metrics is what the names of the business's metrics begin with, such as
// "drone_delivery".
func (b Business) Metrics() string { return strings.ReplaceAll(b.Name, "-", "_") }

// Events is what the types of the business's CloudEvents begin with, such as
// "com.fabrikam.dronedelivery".
func (b Business) Events() string { return "com.fabrikam." + strings.ReplaceAll(b.Name, "-", "") }

// Request is what a client has asked for.
type Request struct {
	// Canonical is its one JSON form, whatever the order, spacing and time zones of
	// the body: it is hashed to recognize a repeat, and sent on.
	Canonical json.RawMessage
	// Account is on whose account it is asked, and AccountField the name of the field
	// that says so, for people; "" if the business knows no accounts.
	Account, AccountField string
}

// View is a call that a client may make to a backend, for its own transaction.
type View struct {
	Method string // GET or POST
	Part   string // the last segment of the path, below the transaction's
	Call   func(transactionID string, body json.RawMessage) workflow.Call
}

// Backend is a service of this app's own behind the steps.
type Backend struct {
	// Name is the backend's in workflow.Call. The setting BACKEND_<NAME>_URL says where
	// it is.
	Name string
	// Concurrency is how many calls to it may be under way in one handler; 0 means
	// BACKEND_CONCURRENCY.
	Concurrency uint
	Functions   []Function
	Containers  []Container
	// Open makes the service and returns the endpoints of its Functions, in their
	// order. It waits for nobody; its error is about the settings.
	Open func(Env) ([][]Endpoint, error)
}

// Function is an HTTP-triggered function that serves a backend. The workflow may
// call it.
type Function struct {
	Name  string // as in functions/<Name>/function.json
	Route string // the host's template, such as "packages/{*path}"
	// Operators tells that people with the operator's role may call it as well.
	Operators bool
}

// Container is a container of the database that a backend keeps its documents in.
type Container struct {
	Name         string
	PartitionKey string // a path, such as "/id"
	// Expires tells that documents have a time to live of their own; otherwise none
	// expires.
	Expires bool
	// Effects tells that the documents are the effects of a step, kept as records of
	// package record: the proof holds them against the transactions.
	Effects bool
	// Indexed are the fields, with dots between their parts, that queries compare
	// besides the id and the partition key.
	Indexed []string
}

// Env is what a backend is given.
type Env struct {
	// Documents returns a container of the backend's own.
	Documents func(container string) Documents
	Settings  Values
	Now       func() time.Time
	// Keep is how long what was undone is to be remembered: no late call comes after.
	Keep time.Duration
	// CompleteBy is the longest time that a transaction takes before it is undone.
	CompleteBy time.Duration
	// CallTimeout is the time that each call to the backend has at least: who asks
	// others for an answer must have it sooner.
	CallTimeout time.Duration
	Logger      *slog.Logger
}

// Endpoint is one method of one path. The path is a template of gorilla/mux
// without a leading slash, such as "packages/{id}".
type Endpoint struct {
	Method, Path string
	// Handle answers a request, or returns the error that it is answered with.
	Handle func(w http.ResponseWriter, r *http.Request) error
}
