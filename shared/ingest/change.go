package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Patch accepts a reschedule.
func (s *Service) Patch(ctx context.Context, id string, in Input, key string) (Result, error) {
	return s.change(ctx, id, workflow.OperationReschedule, in, key)
}

// Delete accepts a cancel.
func (s *Service) Delete(ctx context.Context, id string, in Input, key string) (Result, error) {
	return s.change(ctx, id, workflow.OperationCancel, in, key)
}

// change accepts an operation on an accepted transaction. It fails with a
// *PastError for one that is past it or has no room for it, and with NotFound for
// an unknown one, and for another caller's. It judges by the document as it is
// now: an operation of a burst may be accepted, and end as Refused.
// With a key a repeat gets the OperationID of the first request, whatever has
// become of the transaction since.
func (s *Service) change(ctx context.Context, id string, kind workflow.OperationKind, in Input, key string) (Result, error) {
	if key == "" {
		at, err := s.changeable(ctx, id, kind, in)
		if err != nil {
			return Result{}, err
		}
		r, err := s.request("", id, at, kind, in)
		if err != nil {
			return Result{}, err
		}
		return s.send(ctx, r, in, false)
	}
	keptAs := KeyPrefix + keyID(in.Caller, key)
	kept, err := s.c.Known.Requests.Read(ctx, keptAs)
	switch {
	case err == nil && !kept.same(RequestRecord{Operation: kind, Caller: in.Caller}.under(id, in.Body)):
		return Result{}, fmt.Errorf("%s transaction %s: %w", kind, id, ErrKeyReused)
	case err == nil:
		return s.send(ctx, kept, in, true)
	case !failure.Is(err, failure.NotFound):
		return Result{}, fmt.Errorf("%s transaction %s: %w", kind, id, err)
	}
	at, err := s.changeable(ctx, id, kind, in)
	if err != nil {
		return Result{}, err
	}
	r, err := s.request(keptAs, id, at, kind, in)
	if err != nil {
		return Result{}, err
	}
	return s.keepAndSend(ctx, r, in, ErrKeyReused)
}

// changeable returns the shard of a transaction. It fails if id is unknown or another
// caller's, or its transaction is past the operation or has no room for it. Whose a
// transaction is that waits for its start, the workflow finds out.
func (s *Service) changeable(ctx context.Context, id string, kind workflow.OperationKind, in Input) (shard.Number, error) {
	f, err := s.c.Known.find(ctx, id, in.Caller)
	p := f.progress
	if err != nil {
		return 0, fmt.Errorf("%s transaction %s: %w", kind, id, err)
	}
	if p == nil {
		if f.unknown != nil {
			return 0, f.unknown
		}
		return f.shard, s.c.Known.outlast(ctx, id, f.shard, f.at)
	}
	if owner, known := p.Owner(); known && !workflow.Owns(owner, in.Caller) {
		return 0, failure.New(failure.NotFound, string(kind)+" transaction", id, errors.New("it is another caller's"))
	}
	if reason, past := s.c.Past(p, kind, s.c.Now()); past {
		return 0, &PastError{TransactionID: id, State: p.State, Reason: reason}
	}
	if reason := p.Refuses(workflow.Operation{Kind: kind, Body: in.Body, Caller: in.Caller}); reason != "" {
		return 0, &PastError{TransactionID: id, State: p.State, Reason: reason}
	}
	if s.c.Known.Shards.closed(ctx, f.shard) {
		return 0, &ShardClosedError{id, f.shard}
	}
	return f.shard, s.c.Known.outlast(ctx, id, f.shard, p.AcceptedAt.Time)
}
