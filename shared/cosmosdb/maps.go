package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// mapID is the id of the one document that has the map of the shards.
const mapID = "shards"

// Maps implements ingest.Maps. The map is kept beside the checkpoints, which have no
// lifetime.
type Maps struct{ c *Container }

var _ ingest.Maps = (*Maps)(nil)

// NewMaps returns the store of the map.
func NewMaps(db *Database) *Maps { return &Maps{db.Container(CheckpointsContainer)} }

// storedMap is the document.
type storedMap struct {
	ID string `json:"id"`
	shard.Map
}

// Read returns the map and its ETag.
func (s *Maps) Read(ctx context.Context) (*shard.Map, string, error) {
	doc, etag, err := business.Read[storedMap](ctx, s.c, mapID, mapID)
	return &doc.Map, etag, err
}

// Write stores the map in place of the one that was read with etag, or as the first one.
func (s *Maps) Write(ctx context.Context, m *shard.Map, etag string) (err error) {
	doc := storedMap{mapID, *m}
	if etag == "" {
		_, err = business.Create(ctx, s.c, mapID, mapID, doc)
	} else {
		_, err = business.Replace(ctx, s.c, mapID, mapID, doc, etag)
	}
	return err
}
