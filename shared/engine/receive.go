package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Receive puts the operation of a dead-lettered message on record if it is not: the
// message may never have come as far. It raises the wake with which the operation
// will be done, and makes no call: the message is one that Schedule has failed on
// time and again. An operation that the transaction refuses leaves that alone, and is
// on record outside. Receive reports whether the operation was not on record of the
// transaction. The errors are those of Schedule. e must carry an operation.
func (r *Engine) Receive(ctx context.Context, e Envelope) (fresh bool, err error) {
	s := r.newSession(scheduling{r})
	s.callsNothing = true
	p, _, err := r.Store.Read(ctx, e.TransactionID)
	switch op := e.AsOperation(); {
	case failure.Is(err, failure.NotFound):
	case err != nil:
		return false, fmt.Errorf("receive operation %s of transaction %s: %w", op.ID, e.TransactionID, err)
	case p.Operation(op.ID) != nil:
		return false, nil
	case p.Schema <= workflow.Schema && p.Refuses(*op) != "":
		_, err := s.receive(ctx, p, op)
		return err == nil, err
	}
	return true, s.handle(ctx, e)
}

// receive puts an operation, if there is one, on record in the document, which
// the caller saves, and reports whether it did. What the document refuses, or
// gives away, is stored outside before anything is saved or settled: whoever was
// answered 202 finds an end of it, whatever happens next.
func (s *session) receive(ctx context.Context, p *workflow.Progress, op *workflow.Operation) (fresh bool, err error) {
	if op == nil || p.Operation(op.ID) != nil {
		return false, nil
	}
	if ended, err := s.endedBefore(ctx, p, *op); ended || err != nil {
		return false, err
	}
	fresh, outside := p.Receive(*op)
	for _, o := range outside {
		if o.EndedAt.IsZero() {
			o.EndedAt = workflow.At(s.r.Now())
		}
		o.TTL = int(s.r.Budgets.DocumentTTL / time.Second)
		if err := s.r.Outside.Create(ctx, o); err != nil {
			return false, fmt.Errorf("keep operation %s of transaction %s outside of it: %w", o.OperationID, p.ID, err)
		}
		// Whoever asked for something of another's transaction is not named: the
		// log is no place for callers.
		s.r.Log.WarnContext(ctx, "operation on record outside of its transaction", telemetry.KeyTransaction, p.ID,
			telemetry.KeyOperation, o.OperationID, telemetry.KeyState, o.State, telemetry.KeyReason, o.Reason)
	}
	return fresh, nil
}

// endedBefore reports whether an operation that the document would take was
// refused for want of room when strangers' operations filled it, before the
// start came. An end is for good, though its message, or the client's repeat,
// comes once more.
func (s *session) endedBefore(ctx context.Context, p *workflow.Progress, op workflow.Operation) (bool, error) {
	_, known := p.Owner()
	if !known || op.Caller == "" || op.Kind == workflow.OperationStart || p.Refuses(op) != "" {
		return false, nil
	}
	_, err := s.r.Outside.Read(ctx, op.ID)
	if failure.Is(err, failure.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for operation %s of transaction %s: %w", op.ID, p.ID, err)
	}
	return true, nil
}
