package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Record is one stored document: a content that at most one transaction owns,
// and what became of it. It is a plain value.
type Record[T any] struct {
	ID string `json:"id"`
	// TransactionID is the live owner, "" if nothing is live here.
	TransactionID string `json:"transactionId,omitempty"`
	// Revision and Hash are of the latest PUT by the live owner.
	Revision int    `json:"revision,omitempty"`
	Hash     string `json:"hash,omitempty"`
	// OwnerID is the customer, for the lists; "" if nothing is live here.
	OwnerID string `json:"ownerId,omitempty"`
	// Content outlives its deletion, for those who ask what it was.
	Content    T           `json:"content"`
	Journal    []Entry     `json:"journal,omitempty"`
	Tombstones []Tombstone `json:"tombstones,omitempty"`
	// TTL is how long the document lives after its last write, in seconds; 0
	// (for ever) as long as something is live.
	TTL int `json:"ttl,omitempty"`
}

// Change is what a write made of an effect.
type Change string

// The changes.
const (
	Created Change = "created"
	Changed Change = "changed"
	Deleted Change = "deleted"
)

// Entry is one change in the journal, written together with the change.
type Entry struct {
	Seq           int       `json:"seq"` // 1 for the first, +1 for each
	Change        Change    `json:"change"`
	TransactionID string    `json:"transactionId"`
	OperationID   string    `json:"operationId,omitempty"`
	Revision      int       `json:"revision"`
	Hash          string    `json:"hash,omitempty"`
	At            time.Time `json:"at"`
}

// Tombstone says that a transaction has undone its effect here, or will never
// have one.
type Tombstone struct {
	TransactionID string    `json:"transactionId"`
	At            time.Time `json:"at"`
}

// Live reports whether a transaction owns the content.
func (r *Record[T]) Live() bool { return r.TransactionID != "" }

// Buried returns when the transaction's tombstone was set, if it has one.
func (r *Record[T]) Buried(transactionID string) (time.Time, bool) {
	for _, t := range r.Tombstones {
		if t.TransactionID == transactionID {
			return t.At, true
		}
	}
	return time.Time{}, false
}

// Since returns when the live or last content was created, and the zero time
// if there never was one or the journal has forgotten.
func (r *Record[T]) Since() time.Time {
	for i := len(r.Journal) - 1; i >= 0; i-- {
		if r.Journal[i].Change == Created {
			return r.Journal[i].At
		}
	}
	return time.Time{}
}

// Hash returns the SHA-256 of the JSON of a PUT's content, in hex: two PUTs
// with the same hash ask for the same.
func Hash(content any) (string, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("hash content: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
