package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Known tells which ids were accepted although nothing is known of them yet.
type Known struct {
	Shards   *Shards
	Requests Requests // of all shards: the directory
	Mint     Mint
	// Retention is how long the hub keeps an event: an older id that left no
	// trace is unknown.
	Retention time.Duration
	// Keep is how long a request is kept: as long as a final transaction. Were it
	// longer, a repeat would be accepted whose transaction is forgotten, and which
	// is too old to be begun; were it shorter, one would be taken for new.
	Keep time.Duration
	// Ahead is for how long after it was accepted a transaction may be changed.
	Ahead time.Duration
	Now   func() time.Time
}

// clockSkew is how far the clock of the instance that minted an id may be
// ahead of this one's.
const clockSkew = 5 * time.Minute

// Mint makes ids and knows them; shard.Minter does.
type Mint interface {
	// New makes an id of a kind for someone, of what is in a shard. An error is that of the system's
	// random source.
	New(kind shard.IDKind, whom string, in shard.Number) (string, error)
	// At returns when such an id was minted for someone, false if it never was.
	At(kind shard.IDKind, whom, id string) (time.Time, bool)
}

// operationOf is whom the id of an operation is minted for.
func operationOf(transactionID, caller string) string { return transactionID + " " + caller }

// forged reports whether an id has the form of a minted one though it was minted
// for another caller, or never.
func (k Known) forged(id, caller string) bool {
	_, ours := k.Mint.At(shard.TransactionIDs, caller, id)
	return !ours && shard.Formed(id)
}

// Transaction reports when the id of a transaction was minted for a caller, if
// that was within the retention.
func (k Known) Transaction(id, caller string) (time.Time, bool) {
	return k.young(shard.TransactionIDs, caller, id)
}

// Operation reports when the id of a caller's operation on a transaction was
// minted, if that was within the retention.
func (k Known) Operation(id, transactionID, caller string) (time.Time, bool) {
	return k.young(shard.OperationIDs, operationOf(transactionID, caller), id)
}

func (k Known) young(kind shard.IDKind, whom, id string) (time.Time, bool) {
	at, ok := k.Mint.At(kind, whom, id)
	if !ok {
		return time.Time{}, false
	}
	age := k.Now().Sub(at)
	return at, age < k.Retention && age > -clockSkew
}

// AcceptedAt returns when the caller's transaction with that id was accepted,
// judged without its document: the id was minted for this caller not long ago, or
// its request was kept. It fails with the kind NotFound for an id that nobody
// knows, or that another caller has.
func (k Known) AcceptedAt(ctx context.Context, id, caller string) (time.Time, error) {
	at, _, err := k.accepted(ctx, id, caller)
	return at, err
}

// accepted is AcceptedAt, and tells the transaction's shard.
func (k Known) accepted(ctx context.Context, id, caller string) (time.Time, shard.Number, error) {
	if at, ok := k.Transaction(id, caller); ok {
		n, _ := shard.Claimed(id)
		return at, n.OrFirst(), nil
	}
	r, err := k.recent(ctx, id)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("look for request %s: %w", id, err)
	}
	if r.TransactionID != id || !workflow.Owns(r.Caller, caller) {
		return time.Time{}, 0, failure.New(failure.NotFound, "look for request", id, nil)
	}
	return r.AcceptedAt, r.Shard.OrFirst(), nil
}
