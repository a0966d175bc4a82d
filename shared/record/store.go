package record

import "context"

// Store keeps the documents of one backend, one per id. Implementations are
// safe for concurrent use and give errors whose kind failure.KindOf tells.
type Store[T any] interface {
	// Read returns the document and its ETag. NotFound if there is none.
	Read(ctx context.Context, id string) (doc T, etag string, err error)
	// Create stores a new document. Conflict if the id is taken.
	Create(ctx context.Context, id string, doc T) (etag string, err error)
	// Replace stores doc if the ETag is still etag. Conflict if it is not,
	// NotFound if the document is gone.
	Replace(ctx context.Context, id string, doc T, etag string) (newETag string, err error)
	// Page returns some documents whose top-level field equals value, in no
	// order, and the continuation of the next page ("" after the last). A page
	// may be empty and still have a continuation.
	Page(ctx context.Context, field, value, continuation string) (docs []T, next string, err error)
}
