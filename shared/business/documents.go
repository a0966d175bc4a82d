package business

import "context"

// Documents are the documents of one container. Implementations are safe for
// concurrent use and give errors whose kind failure.KindOf tells.
type Documents interface {
	// Read returns a document and its ETag. NotFound if there is none.
	Read(ctx context.Context, partitionKey, id string) (doc []byte, etag string, err error)
	// Create stores a new document. Conflict if the id is taken in its partition.
	Create(ctx context.Context, partitionKey, id string, doc []byte) (etag string, err error)
	// Replace stores a document in place of the one that has the ETag. Conflict if the
	// ETag is another, NotFound if there is no document.
	Replace(ctx context.Context, partitionKey, id string, doc []byte, etag string) (newETag string, err error)
	// Page returns a page of what a query selects, in no order, and the continuation of
	// the next page ("" after the last). A page may be empty and still have a
	// continuation. Invalid for a continuation that no page gave.
	Page(ctx context.Context, q Query) (docs [][]byte, next string, err error)
}

// Query selects documents of a container.
type Query struct {
	// Text is the query, in Cosmos DB's SQL; it names its parameters with @.
	Text       string
	Parameters map[string]any // by name, with the @
	// PartitionKey limits the query to one partition; nil asks all of them.
	PartitionKey *string
	// Continuation is what the previous page gave; "" asks for the first.
	Continuation string
	// Max is the largest number of documents in the page; 0 means the adapter's own.
	Max int
}
