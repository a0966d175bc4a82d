package ingest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// RequestRecord is what is kept of a request that came under an id of the client's
// or with an idempotency key, so that a repeat is recognized.
type RequestRecord struct {
	// ID is the TransactionID of a Put, and what stands for the key of another
	// request: see KeyPrefix.
	ID            string                 `json:"id"`
	TransactionID string                 `json:"transactionId"`
	OperationID   string                 `json:"operationId"`
	Operation     workflow.OperationKind `json:"operation"`
	Hash          string                 `json:"hash"` // of the content, see workflow.Hash
	Caller        string                 `json:"caller,omitempty"`
	AcceptedAt    time.Time              `json:"acceptedAt"`
	// Shard is where the transaction is, which its first request decides for good.
	Shard shard.Number `json:"shard,omitzero"`
	// TTL is how long the document lives, in seconds; 0 leaves it to the container.
	TTL int `json:"ttl,omitempty"`
	// KeptUntil is when TTL ends, of an entry that alone says where its transaction is.
	KeptUntil time.Time `json:"keptUntil,omitzero"`
	// ETag is that of the document that was read.
	ETag string `json:"-"`
}

// KeyPrefix begins the ids of the requests that are kept by their key. It has a
// sign that is part of no transaction's id: no client can take the place of a
// key, or learn by a Put whether it was used.
const KeyPrefix = "key:"

// under returns r as the request that it would be under a transaction's id.
func (r RequestRecord) under(transactionID string, body json.RawMessage) RequestRecord {
	r.TransactionID, r.Hash = transactionID, workflow.Hash(r.Operation, transactionID, body)
	return r
}

// Requests keeps requests. Implementations are safe for concurrent use and give
// errors whose kind failure.KindOf tells.
type Requests interface {
	// CreateIfAbsent stores r unless there is one with its id, and returns the
	// one that is stored then. After an error either may be the case.
	CreateIfAbsent(ctx context.Context, r RequestRecord) (stored RequestRecord, err error)
	// Replace stores r in place of the one that was read with its ETag. Conflict if there
	// is another, NotFound if there is none any more.
	Replace(ctx context.Context, r RequestRecord) error
	// Read returns a request. NotFound if there is none.
	Read(ctx context.Context, id string) (RequestRecord, error)
}

// same reports whether r, which was kept, stands for the same request as other.
// Another caller's never does, whatever its content.
func (r RequestRecord) same(other RequestRecord) bool {
	return r.Operation == other.Operation && r.TransactionID == other.TransactionID && r.Hash == other.Hash &&
		workflow.Owns(r.Caller, other.Caller)
}
