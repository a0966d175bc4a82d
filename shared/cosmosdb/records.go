package cosmosdb

import (
	"context"
	"fmt"
	"regexp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Records implements record.Store for the container of one backend. A document
// is the JSON form of a T with its id.
type Records[T any] struct{ c *Container }

var _ record.Store[struct{}] = (*Records[struct{}])(nil)

// NewRecords returns the store of the container with that name.
func NewRecords[T any](db *Database, container string) (*Records[T], error) {
	c, err := db.Container(container)
	return &Records[T]{c}, err
}

// Read returns a document and its ETag.
func (s *Records[T]) Read(ctx context.Context, id string) (T, string, error) {
	var v T
	doc, etag, err := s.c.Read(ctx, id, id)
	if err != nil {
		return v, "", err
	}
	if err := decode(doc, &v, "read "+s.c.name, id); err != nil {
		return v, "", err
	}
	return v, etag, nil
}

// Create stores a new document.
func (s *Records[T]) Create(ctx context.Context, id string, v T) (string, error) {
	doc, err := withID(v, id)
	if err != nil {
		return "", failure.New(failure.Permanent, "create "+s.c.name, id, err)
	}
	return s.c.Create(ctx, id, id, doc)
}

// Replace stores a document that was read with etag.
func (s *Records[T]) Replace(ctx context.Context, id string, v T, etag string) (string, error) {
	doc, err := withID(v, id)
	if err != nil {
		return "", failure.New(failure.Permanent, "replace "+s.c.name, id, err)
	}
	return s.c.Replace(ctx, id, id, doc, etag)
}

// fieldName is what may stand in a query as the name of a field, which can't be
// a parameter.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Page returns some documents whose top-level field equals value. Invalid for a
// continuation that no page gave.
func (s *Records[T]) Page(ctx context.Context, field, value, continuation string) ([]T, string, error) {
	if !fieldName.MatchString(field) {
		return nil, "", failure.New(failure.Invalid, "query "+s.c.name, "", fmt.Errorf("%q is no field name", field))
	}
	docs, next, err := s.c.list(ctx, Query{
		Text:         `SELECT * FROM c WHERE c["` + field + `"] = @value`,
		Parameters:   map[string]any{"@value": value},
		Continuation: continuation,
	})
	if err != nil {
		return nil, "", err
	}
	values := make([]T, len(docs))
	for i, doc := range docs {
		if err := decode(doc, &values[i], "read "+s.c.name, ""); err != nil {
			return nil, "", err
		}
	}
	return values, next, nil
}
