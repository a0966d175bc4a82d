package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// Checkpoints implements relay.Checkpoints.
type Checkpoints struct{ c *Container }

var _ relay.Checkpoints = (*Checkpoints)(nil)

// NewCheckpoints returns the store of Relay's checkpoints.
func NewCheckpoints(db *Database) *Checkpoints {
	return &Checkpoints{db.Container(CheckpointsContainer)}
}

// Read returns a checkpoint and its ETag.
func (s *Checkpoints) Read(ctx context.Context, id string) (relay.Checkpoint, string, error) {
	var c relay.Checkpoint
	doc, etag, err := s.c.Read(ctx, id, id)
	if err != nil {
		return c, "", err
	}
	err = business.Decode(doc, &c, "read checkpoint", id)
	return c, etag, err
}

// Save stores a checkpoint that was read with etag, or a new one.
func (s *Checkpoints) Save(ctx context.Context, c relay.Checkpoint, etag string) (string, error) {
	doc, err := business.Encode(c, "save checkpoint", c.ID)
	if err != nil {
		return "", err
	}
	if etag == "" {
		return s.c.Create(ctx, c.ID, c.ID, doc)
	}
	return s.c.Replace(ctx, c.ID, c.ID, doc, etag)
}
