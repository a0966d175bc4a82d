package record

import (
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// DefaultRetention is how long tombstones, journal entries and deleted records
// are kept: longer than any message of their transaction can be on its way.
const DefaultRetention = 30 * 24 * time.Hour

// What a document holds at most, so that it stays below 64 KiB but for its
// content, however many transactions have come and gone. A workflow makes 102
// entries for one content: 50 changes, each put back, beside its beginning and
// its end.
const (
	MaxEntries    = 128
	MaxTombstones = 64
)

// By says on whose behalf a call is made.
type By struct {
	TransactionID string
	OperationID   string
	Revision      int // from 1
}

// The problems of the rules, besides problem.Gone.
var (
	OwnedByAnother = problem.Type{ID: "owned-by-another", Status: 409, Title: "It belongs to another transaction"}
	StaleRevision  = problem.Type{ID: "stale-revision", Status: 409, Title: "A later revision is already stored"}
	OtherContent   = problem.Type{ID: "other-content", Status: 409, Title: "The revision is already stored with other content"}
	// CannotUndo refuses a DELETE for good: what it was to undo has happened in
	// the world. Nothing was changed, and a repeat gets the same answer.
	CannotUndo = problem.Type{ID: "cannot-be-undone", Status: 409, Title: "It has happened and cannot be undone"}
)

// Admit tells what a PUT would be: Created, Changed, or "" for a repeat, which
// is to be answered as before without a write. The error is a *problem.Problem
// for a PUT that the rules refuse.
func (r *Record[T]) Admit(by By, hash string) (Change, error) {
	if _, buried := r.Buried(by.TransactionID); buried {
		return "", gone(by)
	}
	switch {
	case !r.Live():
		return Created, nil
	case r.TransactionID != by.TransactionID:
		return "", problem.New(OwnedByAnother, "%s belongs to another transaction than %s", r.ID, by.TransactionID)
	case by.Revision < r.Revision:
		return "", problem.New(StaleRevision, "revision %d is there, %d came", r.Revision, by.Revision)
	case by.Revision > r.Revision:
		return Changed, nil
	case hash != r.Hash:
		return "", problem.New(OtherContent, "revision %d is there with other content", by.Revision)
	}
	return "", nil
}

func gone(by By) error {
	return problem.New(problem.Gone, "transaction %s has undone it", by.TransactionID)
}

// Put takes in the content of a PUT that Admit has admitted as change.
func (r *Record[T]) Put(by By, change Change, hash, account string, content T, now time.Time, retention time.Duration) {
	r.TransactionID, r.Revision, r.Hash, r.Account = by.TransactionID, by.Revision, hash, account
	r.Content = content
	r.note(by, change, hash, now)
	r.Prune(now, retention)
}

// Delete undoes what the transaction has here and leaves its tombstone. It
// reports whether the record is to be written: not if the tombstone was there.
func (r *Record[T]) Delete(by By, now time.Time, retention time.Duration) bool {
	if _, buried := r.Buried(by.TransactionID); buried {
		return false
	}
	if r.TransactionID == by.TransactionID {
		by.Revision = max(by.Revision, r.Revision)
		r.note(by, Deleted, r.Hash, now)
		r.TransactionID, r.Revision, r.Hash, r.Account, r.Needed = "", 0, "", "", time.Time{}
	}
	r.Tombstones = append(r.Tombstones, Tombstone{TransactionID: by.TransactionID, At: now.UTC()})
	r.Prune(now, retention)
	return true
}

func (r *Record[T]) note(by By, change Change, hash string, now time.Time) {
	seq := 1
	if n := len(r.Journal); n > 0 {
		seq = r.Journal[n-1].Seq + 1
	}
	r.Journal = append(r.Journal, JournalEntry{
		Seq: seq, Change: change, TransactionID: by.TransactionID, OperationID: by.OperationID,
		Revision: by.Revision, Hash: hash, At: now.UTC(),
	})
}

// Prune forgets tombstones and journal entries older than the retention, and
// sets how long the document is to live. The entries of what is live, and the
// last one, which carries on the numbers, stay. Of more entries than MaxEntries
// the oldest go, but for the one that begins the Story.
func (r *Record[T]) Prune(now time.Time, retention time.Duration) {
	horizon := now.Add(-retention)
	stones := make([]Tombstone, 0, len(r.Tombstones))
	for _, t := range r.Tombstones {
		if t.At.After(horizon) {
			stones = append(stones, t)
		}
	}
	r.Tombstones = stones
	entries := make([]JournalEntry, 0, len(r.Journal))
	for i, e := range r.Journal {
		live := r.Live() && e.TransactionID == r.TransactionID
		if live || e.At.After(horizon) || i == len(r.Journal)-1 {
			entries = append(entries, e)
		}
	}
	r.Journal = entries
	if over := len(entries) - MaxEntries; over > 0 {
		story := r.Story()
		r.Journal = entries[over:]
		if len(story) > MaxEntries {
			r.Journal[0] = story[0]
		}
	}
	if !now.Before(r.Beside) {
		r.Beside = time.Time{}
	}
	r.TTL = 0
	if !r.Live() || !r.Needed.IsZero() {
		r.TTL = seconds(retention + max(0, r.Needed.Sub(now)))
	}
}

// seconds is a retention as a document's TTL.
func seconds(retention time.Duration) int { return max(1, int(retention/time.Second)) }

// tombstonePrefix begins the ids of the documents beside the records. Its colon
// is part of no id.
const tombstonePrefix = "tombstone:"

// TombstoneID returns the id of the document that a transaction's tombstone is
// in when its record has no room for it: a record of nothing but that one.
func TombstoneID(id, transactionID string) string {
	return tombstonePrefix + id + ":" + transactionID
}

// BesideOf returns the id of the record that a document with that id is beside;
// false if it is a record itself.
func BesideOf(id string) (string, bool) {
	rest, beside := strings.CutPrefix(id, tombstonePrefix)
	of, _, _ := strings.Cut(rest, ":")
	return of, beside
}
