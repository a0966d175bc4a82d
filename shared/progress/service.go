// Package progress answers clients that ask what has become of their
// transaction or operation.
package progress

import (
	"context"
	"errors"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Transactions reads the documents of transactions; workflow.Store does.
type Transactions interface {
	// Read returns the document and its ETag. NotFound if there is none.
	Read(ctx context.Context, id string) (*workflow.Progress, string, error)
}

// Service answers from what is stored. It is safe for concurrent use.
type Service struct {
	transactions Transactions
	known        ingest.Known
}

// New returns a Service. known tells of what was accepted and has no document
// yet.
func New(transactions Transactions, known ingest.Known) *Service {
	return &Service{transactions, known}
}

// Get returns a transaction. It fails with the kind NotFound for an id that was
// never accepted, or so long ago that nothing is left of it.
func (s *Service) Get(ctx context.Context, id string) (View, error) {
	p, _, err := s.transactions.Read(ctx, id)
	if err == nil {
		return viewOf(p), nil
	}
	if !failure.Is(err, failure.NotFound) {
		return View{}, fmt.Errorf("get progress of %s: %w", id, err)
	}
	at, err := s.known.AcceptedAt(ctx, id)
	if err != nil {
		return View{}, fmt.Errorf("get progress of %s: %w", id, err)
	}
	return unobserved(id, workflow.At(at)), nil
}

// GetOperation returns an operation of a transaction. One that has not reached
// its transaction yet is Pending and not observed, as long as its id is young
// enough that it can still be on its way. It fails with the kind NotFound for
// any other.
func (s *Service) GetOperation(ctx context.Context, id, operationID string) (Operation, error) {
	p, _, err := s.transactions.Read(ctx, id)
	switch {
	case err == nil:
		if o := p.Operation(operationID); o != nil {
			return operationOf(id, o), nil
		}
	case !failure.Is(err, failure.NotFound):
		return Operation{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, err)
	default:
		if _, err := s.known.AcceptedAt(ctx, id); err != nil {
			return Operation{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, err)
		}
	}
	at, ok := s.known.Young(operationID)
	if !ok {
		return Operation{}, failure.New(failure.NotFound, "get operation", operationID,
			errors.New("transaction "+id+" has no such operation"))
	}
	return Operation{
		ID: operationID, TransactionID: id, State: workflow.OperationPending,
		AcceptedAt: workflow.At(at),
	}, nil
}
