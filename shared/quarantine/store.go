package quarantine

import "context"

// Store keeps the entries. Implementations are safe for concurrent use and give
// errors whose kind failure.KindOf tells; any error that is not named below is
// transient and leaves open whether a write took effect.
type Store interface {
	// Put stores an entry unless one with its source and id is there already,
	// which is no error: the first stays.
	Put(ctx context.Context, e Entry) error
	// Read returns an entry and its ETag. NotFound if there is none.
	Read(ctx context.Context, source, id string) (Entry, string, error)
	// Replace stores e if the ETag of the entry is still etag. Conflict if it
	// is not, NotFound if the entry is gone.
	Replace(ctx context.Context, e Entry, etag string) error
	// Page returns a page of entries, in no order, and the continuation of the
	// next page ("" after the last). A page may be empty and still have a
	// continuation. Invalid for a continuation that no page gave.
	Page(ctx context.Context, filter Filter, continuation string) (entries []Entry, next string, err error)
}

// Filter selects entries. Empty fields select everything.
type Filter struct {
	Source, Reason, TransactionID string
	State                         State
	// WithoutBodies leaves out bodies and properties, which can be large.
	WithoutBodies bool
}
