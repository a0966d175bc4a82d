package business

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Read, Create, Replace and Page are the operations of Documents with documents as
// values of Go. Besides the errors of those, a value that can't be written and a
// document that can't be read fail permanently: neither gets better with time.

// Read returns a document and its ETag.
func Read[T any](ctx context.Context, docs Documents, partitionKey, id string) (v T, etag string, err error) {
	doc, etag, err := docs.Read(ctx, partitionKey, id)
	if err == nil {
		err = decode(doc, &v, id)
	}
	return v, etag, err
}

// Create stores a new document and returns its ETag.
func Create(ctx context.Context, docs Documents, partitionKey, id string, v any) (etag string, err error) {
	doc, err := encode(v, id)
	if err != nil {
		return "", err
	}
	return docs.Create(ctx, partitionKey, id, doc)
}

// Replace stores a document in place of the one that has the ETag, and returns the
// new ETag.
func Replace(ctx context.Context, docs Documents, partitionKey, id string, v any, etag string) (newETag string, err error) {
	doc, err := encode(v, id)
	if err != nil {
		return "", err
	}
	return docs.Replace(ctx, partitionKey, id, doc, etag)
}

// Page returns a page of what a query selects.
func Page[T any](ctx context.Context, docs Documents, q Query) (page []T, next string, err error) {
	found, next, err := docs.Page(ctx, q)
	if err != nil {
		return nil, "", err
	}
	page = make([]T, len(found))
	for i, doc := range found {
		if err := decode(doc, &page[i], ""); err != nil {
			return nil, "", err
		}
	}
	return page, next, nil
}

// encode leaves out the escapes for HTML, which would change the raw JSON inside.
func encode(v any, id string) ([]byte, error) {
	var doc bytes.Buffer
	e := json.NewEncoder(&doc)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, failure.New(failure.Permanent, "encode document", id, err)
	}
	return bytes.TrimSuffix(doc.Bytes(), []byte("\n")), nil
}

func decode(doc []byte, v any, id string) error {
	if err := json.Unmarshal(doc, v); err != nil {
		return failure.New(failure.Permanent, "decode document", id, err)
	}
	return nil
}
