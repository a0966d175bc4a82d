package operate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Transactions are the documents of the transactions; workflow.Store says what
// its methods do.
type Transactions interface {
	Read(ctx context.Context, id string) (*workflow.Progress, string, error)
	Replace(ctx context.Context, p *workflow.Progress, etag string) (string, error)
}

// Listing finds transactions by their state.
type Listing interface {
	// ByState returns a page of the transactions in a state, in no order, and
	// the continuation of the next page ("" after the last). A page may be
	// empty and still have a continuation. Invalid for a continuation that no
	// page gave. Overdue is not set.
	ByState(ctx context.Context, state workflow.State, continuation string) (page []Summary, next string, err error)
}

// Receiver puts operations on record; the Schedule function's service does.
type Receiver interface {
	// Receive reports whether the operation was new. Its errors are those of
	// engine.Engine.Receive.
	Receive(ctx context.Context, e engine.Envelope) (fresh bool, err error)
}

// Waker sends what a saved transaction asks for; engine.Engine does.
type Waker interface {
	// Successor sends the transaction's current wake, or the news of its rest.
	// Sending one again is harmless.
	Successor(ctx context.Context, p *workflow.Progress) error
}

// Config is what a Service needs. All fields are required.
type Config struct {
	Transactions Transactions
	Listing      Listing
	Quarantine   quarantine.Store
	Operations   Receiver
	Waker        Waker
	Definition   *workflow.Definition
	Limits       workflow.Limits
	Now          func() time.Time // safe for concurrent use
	Logger       *slog.Logger
}

// Service does what operators ask for. It is safe for concurrent use and keeps
// nothing between calls. Its errors have a kind that failure.KindOf tells; what
// an operator can't do is a *RefusedError.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// read returns a transaction, unless a newer version of this code wrote it.
func (s *Service) read(ctx context.Context, id string) (*workflow.Progress, string, error) {
	p, etag, err := s.c.Transactions.Read(ctx, id)
	if err == nil && p.Schema > workflow.Schema {
		err = fmt.Errorf("transaction %s: its schema %d is newer than %d", id, p.Schema, workflow.Schema)
	}
	return p, etag, err
}

// now is the time as it is stored.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Millisecond) }
