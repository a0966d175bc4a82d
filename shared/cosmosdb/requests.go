package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
)

// Requests implements ingest.Requests.
type Requests struct{ c *Container }

var _ ingest.Requests = (*Requests)(nil)

// NewRequests returns the store of the requests.
func NewRequests(db *Database) *Requests { return &Requests{db.Container(RequestsContainer)} }

// CreateIfAbsent stores r unless there is one with its id, and returns the
// stored one.
func (s *Requests) CreateIfAbsent(ctx context.Context, r ingest.RequestRecord) (ingest.RequestRecord, error) {
	_, err := business.Create(ctx, s.c, r.ID, r.ID, r)
	if failure.Is(err, failure.Conflict) {
		return s.Read(ctx, r.ID)
	}
	return r, err
}

// Read returns a request.
func (s *Requests) Read(ctx context.Context, id string) (ingest.RequestRecord, error) {
	r, etag, err := business.Read[ingest.RequestRecord](ctx, s.c, id, id)
	r.ETag = etag
	return r, err
}

// Replace stores r in place of the one that was read with its ETag.
func (s *Requests) Replace(ctx context.Context, r ingest.RequestRecord) error {
	_, err := business.Replace(ctx, s.c, r.ID, r.ID, r, r.ETag)
	return err
}
