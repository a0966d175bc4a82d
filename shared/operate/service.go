package operate

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Where is what the indexes of the transactions find. What is zero says nothing.
type Where struct {
	States []workflow.State // in one of these
	Caller string
	// WrittenSince is when they were last written, or later, to the second.
	WrittenSince time.Time
	// Key is a field of the request, with dots between its parts, that has Value.
	Key, Value string
}

// Listed is a stored transaction as far as a list needs it: without its request, its
// operations, its notices and its lease.
type Listed struct {
	workflow.Progress
	ChangedAt workflow.Instant // when it was last written, to the second
}

// Listing finds transactions.
type Listing interface {
	// Find returns a page of the transactions that have all that where says, in no
	// order, and the continuation of the next page ("" after the last), which is for the
	// same where. A page may be empty and still have a continuation. Invalid for a
	// continuation that no page gave.
	Find(ctx context.Context, where Where, continuation string) (page []Listed, next string, err error)
}

// Config is what a Service needs. All fields but Key are required.
type Config struct {
	Engine     *engine.Engine // whose transactions they are
	Listing    Listing        // of the transactions
	Key        string         // see business.Business; "" for none
	Quarantine quarantine.Store
	Hub        Hub
	Shards     Shards
	Told       Told
	Counter    Counter
	// ConsumerGroup is Relay's.
	ConsumerGroup string
	// Queues counts the messages of the shard's queues.
	Queues func(ctx context.Context) ([]QueueCount, error)
	// Lasting is how long something may be left of what is accepted now: see ingest.Known.
	Lasting time.Duration
	// Where tells in which shard a transaction is that isn't here, as far as this app knows.
	// NotFound if there can't be such a one.
	Where func(ctx context.Context, id string) (shard.Number, error)
	// TraceURL is that of the page of a trace, with {traceId} in it; "" for none.
	TraceURL string
	Logger   *slog.Logger
}

// Service does what operators ask for. It is safe for concurrent use and keeps
// nothing between calls but the status of the last seconds. Its errors have a kind that failure.KindOf tells; what
// an operator can't do is a *RefusedError.
type Service struct {
	c       Config
	folding sync.Mutex // held while the status is put together
	folded  *Status    // nil before the first; guarded by folding
	again   recount    // the last; guarded by folding
}

// New returns a Service.
func New(c Config) *Service { return &Service{c: c} }

// now is the time as it is stored.
func (s *Service) now() time.Time { return s.c.Engine.Now().UTC().Truncate(time.Millisecond) }
