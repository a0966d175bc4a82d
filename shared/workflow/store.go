package workflow

import "context"

// Store keeps the Progress documents. Implementations are safe for concurrent
// use, and give errors whose kind failure.KindOf tells; any error that is not
// named below is transient and leaves open whether a write took effect.
type Store interface {
	// Read returns the document and its ETag. NotFound if there is none.
	Read(ctx context.Context, id string) (*Progress, string, error)
	// Create stores a new document and returns its ETag. Conflict if the id
	// is taken.
	Create(ctx context.Context, p *Progress) (string, error)
	// Replace stores p if the document's ETag is still etag, and returns the
	// new one. Conflict if it is not, NotFound if the document is gone.
	Replace(ctx context.Context, p *Progress, etag string) (string, error)
	// Overdue returns a page of transactions whose WakeAt is before the given
	// instant, in no order, and the continuation of the next page ("" after
	// the last). A page may be empty and still have a continuation.
	Overdue(ctx context.Context, before Instant, continuation string) (ids []string, next string, err error)
	// OverdueNotices does the same for transactions whose Outbox.At is before
	// the given instant.
	OverdueNotices(ctx context.Context, before Instant, continuation string) (ids []string, next string, err error)
}
