package quarantine

import "context"

// Store keeps the entries. Implementations are safe for concurrent use and give
// errors whose kind failure.KindOf tells.
type Store interface {
	// Put stores an entry unless one with its source and id is there already,
	// which is no error: the first stays.
	Put(ctx context.Context, e Entry) error
	// Read returns an entry. NotFound if there is none.
	Read(ctx context.Context, source, id string) (Entry, error)
	// Page returns a page of entries, in no order, and the continuation of the
	// next page ("" after the last). A page may be empty and still have a
	// continuation.
	Page(ctx context.Context, filter Filter, continuation string) (entries []Entry, next string, err error)
}

// Filter selects entries. Empty fields select everything.
type Filter struct{ Source, Reason string }
