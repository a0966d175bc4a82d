package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Outside reads the operations that are on record outside of their transactions.
type Outside interface {
	// Read returns an operation by its OperationID. NotFound if there is none.
	Read(ctx context.Context, operationID string) (workflow.OutsideOperation, error)
}

// Progress answers from what is stored. It is safe for concurrent use.
type Progress struct{ known Known }

// NewProgress returns a Progress. known tells of what was accepted and has no document
// yet.
func NewProgress(known Known) *Progress { return &Progress{known} }

// Get returns a transaction of the caller's. It fails with the kind NotFound for
// an id that was never accepted, or so long ago that nothing is left of it, and
// for another caller's.
func (s *Progress) Get(ctx context.Context, id, caller string) (View, error) {
	f, err := s.read(ctx, id, caller)
	if err == nil && f.progress != nil {
		return viewOf(f.progress, caller), nil
	}
	if err = cmp.Or(err, f.unknown); err != nil {
		return View{}, fmt.Errorf("get progress of %s: %w", id, err)
	}
	return unobserved(id, workflow.At(f.at)), nil
}

// GetOperation returns an operation of a transaction. One that has not reached
// its transaction yet is Pending and not observed, as long as its id is young
// enough that it can still be on its way. One that is on record outside of the
// transaction has ended, and is its caller's alone, whosever the transaction is.
// It fails with the kind NotFound for any other, and for another caller's.
func (s *Progress) GetOperation(ctx context.Context, id, operationID, caller string) (OperationView, error) {
	f, unseen := s.read(ctx, id, caller)
	if unseen != nil && !failure.Is(unseen, failure.NotFound) {
		return OperationView{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, unseen)
	}
	if f.progress != nil {
		if o := f.progress.Operation(operationID); o != nil && workflow.Owns(o.Caller, caller) {
			return operationView(id, o), nil
		}
	}
	in, err := s.known.at(ctx, f.shard, id)
	if err != nil {
		return OperationView{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, err)
	}
	o, err := in.Outside.Read(ctx, operationID)
	switch {
	case err == nil && o.TransactionID == id && workflow.Owns(o.Caller, caller):
		return operationOutside(o), nil
	case err != nil && !failure.Is(err, failure.NotFound):
		return OperationView{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, err)
	}
	if unseen = cmp.Or(unseen, f.unknown); unseen != nil {
		return OperationView{}, fmt.Errorf("get operation %s of %s: %w", operationID, id, unseen)
	}
	at, ok := s.known.Operation(operationID, id, caller)
	if !ok {
		return OperationView{}, failure.New(failure.NotFound, "get operation", operationID,
			errors.New("transaction "+id+" has no such operation"))
	}
	return OperationView{
		ID: operationID, TransactionID: id, State: workflow.OperationPending,
		AcceptedAt: workflow.At(at),
	}, nil
}

// read finds a transaction. It leaves out a document that isn't the caller's business,
// since it is not known yet whose it is. It fails with the kind NotFound for another
// caller's.
func (s *Progress) read(ctx context.Context, id, caller string) (found, error) {
	f, err := s.known.find(ctx, id, caller)
	if err != nil || f.progress == nil || f.progress.SeenBy(caller) {
		return f, err
	}
	if _, known := f.progress.Owner(); known {
		return found{shard: f.shard}, failure.New(failure.NotFound, "read transaction", id, errors.New("it is another caller's"))
	}
	at, _, err := s.known.accepted(ctx, id, caller)
	return found{shard: f.shard, at: at, unknown: err}, nil
}
