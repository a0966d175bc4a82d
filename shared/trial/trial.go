// Package trial has the types in which a business tells the proof more than its
// handler needs: sample requests and their required ends, where the effects of
// its steps are kept, and its own rules over the stored data. The shipped
// handler does not contain the value.
//
// It is plain data and imports nothing of infra. Reading order: trial.go (the
// whole), sample.go (what clients send), stored.go (what rules judge), findings.go
// (what they find).
package trial

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Trial is what the proof needs to know of one business. It is read-only once it
// is made, and safe for concurrent use.
type Trial struct {
	// Kinds are the sample requests. One of them has no share: it is the usual one.
	Kinds []Kind
	// Change draws a change that the client of a request may ask for. Nil if requests
	// can't be changed.
	Change func(d Draw, request json.RawMessage) any
	// Rivals are the states in which a request may end, besides that of its kind, when
	// another one was drawn with the same Name and has what both want. Nil if two such
	// requests don't get in each other's way.
	Rivals []workflow.State
	// Before are calls that must have been made before the first request, such as
	// those that open the accounts. They may be made again.
	Before []Call
	// Meanwhile returns the nth call that is made beside the requests while everything
	// breaks. Nil for none. No request may depend on it.
	Meanwhile func(n int) Call
	// Settings are those of the app while so many requests are sent, by variable:
	// what is scarce is to be scarce, and what takes hours is to take seconds.
	Settings func(requests int) map[string]string

	// Answers are what stands for the answer of a step's backend where nothing but load
	// is measured, by step; an empty object for those that are not named.
	Answers map[string]any

	// Effects say where the effects of the steps are.
	Effects []Effect
	// Sizes are the largest documents of the business's containers, in bytes;
	// DefaultSize for those that are not named.
	Sizes map[string]int
	// Rules returns the rules of the business over what is stored. The error is that
	// something can't be read.
	Rules func(s *Stored) ([]Rule, error)
	// Breaks are at least one for each of the Rules: they show that it is checked.
	Breaks []Break
	// Services are those that aren't the app's own, which the trial plays.
	Services []Service
}

// DefaultSize is what a record takes at most: a full journal and all the
// tombstones that it has room for, beside a content of a few KiB.
const DefaultSize = 64 << 10

// Call is a request to the app's HTTP functions.
type Call struct {
	Method, Path string // below the host's prefix, escaped, such as "account/owner-1"
	Body         any    // as JSON; nil for none
}

// Effect says where the effect of a step is kept: as records of package record
// in one container. The record of a transaction has the last segment of its call's
// path for an id.
type Effect struct {
	Step, Container string
	// Ask reads what was asked for, alike from the body of the step's call and from
	// the content of the record: record.Hash of the value is that of the record.
	Ask func(json.RawMessage) (any, error)
	// World is for a pivot: when the world does what can't be undone, by the content
	// of the record (zero if nobody knows), and whether the backend has said that it
	// has, since it refuses the undo from then on. Nil for the others.
	World func(content json.RawMessage) (at time.Time, said bool)
}

// Read reads a T, as the Ask of an Effect does.
func Read[T any](data json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// Service is one that isn't the app's own, such as a payment provider. The runtime
// plays it over HTTP, in a process of its own with a ledger on disk: the process is
// killed and started again like the others, and faults hold its answers back past the
// call time-out.
type Service struct {
	Name string // also that of the ledger's file
	// Setting is the variable that tells the app its URL.
	Setting string
	// Open returns the service as its ledger says, safe for concurrent use. ledger is a
	// JSON array of the entries so far. keep adds an entry, and returns when the entry
	// is on disk: only then may the service say what it has done. After an error of
	// keep nobody knows whether the entry is there, and each later call fails.
	Open func(ledger json.RawMessage, keep func(entry any) error) (http.Handler, error)
}
