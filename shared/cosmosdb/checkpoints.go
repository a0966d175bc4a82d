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
	return business.Read[relay.Checkpoint](ctx, s.c, id, id)
}

// Save stores a checkpoint that was read with etag, or a new one.
func (s *Checkpoints) Save(ctx context.Context, c relay.Checkpoint, etag string) (string, error) {
	if etag == "" {
		return business.Create(ctx, s.c, c.ID, c.ID, c)
	}
	return business.Replace(ctx, s.c, c.ID, c.ID, c, etag)
}
