package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// DefaultRetention is the retention of the hub unless a setting says
// otherwise.
const DefaultRetention = 7 * 24 * time.Hour

// Known tells which ids were accepted although nothing is known of them yet.
type Known struct {
	Requests Requests
	// MintedAt returns when an id was minted by this system, false for an id
	// that it did not mint.
	MintedAt func(id string) (time.Time, bool)
	// Retention is how long the hub keeps an event: an older id that left no
	// trace is unknown. 0 means DefaultRetention.
	Retention time.Duration
	Now       func() time.Time
}

// clockSkew is how far the clock of the instance that minted an id may be
// ahead of this one's.
const clockSkew = 5 * time.Minute

// Young reports when an id was minted, if that was within the retention.
func (k Known) Young(id string) (time.Time, bool) {
	at, ok := k.MintedAt(id)
	if !ok {
		return time.Time{}, false
	}
	retention := k.Retention
	if retention <= 0 {
		retention = DefaultRetention
	}
	age := k.Now().Sub(at)
	return at, age < retention && age > -clockSkew
}

// AcceptedAt returns when the caller's transaction with that id was accepted,
// judged without its document: the id is young, or its request was kept. It fails
// with the kind NotFound for an id that nobody knows, or that another caller's
// request took. What a young id tells is in the id itself, so that it gives
// nothing away of whoever got it.
func (k Known) AcceptedAt(ctx context.Context, id, caller string) (time.Time, error) {
	if at, ok := k.Young(id); ok {
		return at, nil
	}
	r, err := k.Requests.Read(ctx, id)
	if err != nil {
		return time.Time{}, fmt.Errorf("look for request %s: %w", id, err)
	}
	if r.TransactionID != id || !workflow.Owns(r.Caller, caller) {
		return time.Time{}, failure.New(failure.NotFound, "look for request", id, nil)
	}
	return r.AcceptedAt, nil
}
