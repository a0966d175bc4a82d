package operate

import (
	"context"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Listing finds transactions by their state.
type Listing interface {
	// ByState returns a page of the transactions in a state, in no order, and
	// the continuation of the next page ("" after the last). A page may be
	// empty and still have a continuation. Invalid for a continuation that no
	// page gave. Overdue is not set.
	ByState(ctx context.Context, state workflow.State, continuation string) (page []Summary, next string, err error)
}

// Config is what a Service needs. All fields are required.
type Config struct {
	Engine     *engine.Engine // whose transactions they are
	Listing    Listing        // of the transactions
	Quarantine quarantine.Store
	Hub        Hub    // of the endpoints
	Shards     Shards // of the endpoints
	// Where tells in which shard a transaction is that isn't here, as far as this app knows.
	// NotFound if there can't be such a one.
	Where  func(ctx context.Context, id string) (shard.Number, error)
	Logger *slog.Logger
}

// Service does what operators ask for. It is safe for concurrent use and keeps
// nothing between calls. Its errors have a kind that failure.KindOf tells; what
// an operator can't do is a *RefusedError.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// now is the time as it is stored.
func (s *Service) now() time.Time { return s.c.Engine.Now().UTC().Truncate(time.Millisecond) }
