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
	// Account is whose it is, for the lists; "" if nothing is live here, or the
	// business has no accounts.
	Account string `json:"account,omitempty"`
	// Content outlives its deletion, for those who ask what it was.
	Content T `json:"content,omitzero"`
	// Journal has MaxEntries at most: the latest, and the one that says since when
	// the content is there.
	Journal []JournalEntry `json:"journal,omitempty"`
	// Tombstones are the latest MaxTombstones, oldest first. Beside is until when
	// there may be older ones in documents of their own (see TombstoneID); zero if
	// there never were any.
	Tombstones []Tombstone `json:"tombstones,omitempty"`
	Beside     time.Time   `json:"beside,omitzero"`
	// Needed is until when the live content may still be changed or undone; zero
	// if nobody knows, or nothing is live.
	Needed time.Time `json:"needed,omitzero"`
	// TTL is how long the document lives after its last write, in seconds: the
	// retention, and before it the time for which a live content is needed. 0 (for
	// ever) while something is live of which Needed says nothing.
	TTL int `json:"ttl,omitempty"`
}

// AccountField is the field of Account in a stored record, for the indexes of
// containers whose records are listed.
const AccountField = "account"

// Change is what a write made of an effect.
type Change string

// The changes.
const (
	Created Change = "created"
	Changed Change = "changed"
	Deleted Change = "deleted"
)

// JournalEntry is one change in the journal, written together with the change.
type JournalEntry struct {
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

// Story returns the entries of the live or last content, from the one that
// created it on. Nil if there never was one or the journal has forgotten.
func (r *Record[T]) Story() []JournalEntry {
	for i := len(r.Journal) - 1; i >= 0; i-- {
		if r.Journal[i].Change == Created {
			return r.Journal[i:]
		}
	}
	return nil
}

// Since returns when the live or last content was created, and the zero time
// if there never was one or the journal has forgotten.
func (r *Record[T]) Since() time.Time {
	if story := r.Story(); story != nil {
		return story[0].At
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
