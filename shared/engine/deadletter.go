package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// DeadLettered is called for each dead letter of a transaction, when it is in
// the quarantine. An operation that is not on record is put there: its message
// may never have come as far, in an outage of the storage, say. Otherwise the
// transaction gets a new wake, since the dead letter may have been its last one,
// or is left to an operator when that happens too often without the result of a
// call in between; one that is unknown or rests needs neither. Messages that die
// in one outage are one thing: what was sent before the wake that a counted one
// raised does not count, nor does a dead letter that is reported twice (ADR 14).
func (r *Engine) DeadLettered(ctx context.Context, transactionID string, body []byte) error {
	// What can't be read is in the quarantine, where people can, and counts like
	// an operation, which has no wake.
	e, err := DecodeIn(r.Shard, body)
	if errors.Is(err, ErrOtherShard) { // nothing here is about it
		return nil
	}
	fresh, err := r.receiveDead(ctx, e)
	if err != nil || fresh {
		return err
	}
	return r.countDeadLetter(ctx, transactionID, e.Wake)
}

// receiveDead puts the operation in a dead letter on record, if there is one and it
// can still be.
func (r *Engine) receiveDead(ctx context.Context, e Envelope) (fresh bool, err error) {
	if e.Operation == "" {
		return false, nil
	}
	fresh, err = r.Receive(ctx, e)
	if errors.Is(err, ErrTooOld) {
		return false, nil
	}
	if fresh && err == nil {
		r.Log.WarnContext(ctx, "operation of a dead letter put on record",
			telemetry.KeyTransaction, e.TransactionID, telemetry.KeyOperation, e.OperationID)
	}
	return fresh, err
}

// countDeadLetter counts the dead letter of a wake, 0 for an operation.
func (r *Engine) countDeadLetter(ctx context.Context, id string, wake int) error {
	var before workflow.State
	counted, send := false, false
	p, err := failure.Update[workflow.Progress]{
		Op: "count dead letter of transaction", ID: id, Lost: 1,
		Read: func(ctx context.Context) (*workflow.Progress, string, error) { return r.Store.Read(ctx, id) },
		Change: func(p *workflow.Progress) (bool, error) {
			switch {
			case p.Rests():
				send = false
				return false, nil
			case p.Schema > workflow.Schema:
				return false, fmt.Errorf("its schema %d is newer than %d", p.Schema, workflow.Schema)
			}
			// An own write whose answer was lost has raised DeadWake as well.
			if send = true; wake < p.DeadWake {
				return false, nil
			}
			before = p.State
			if err := r.count(p); err != nil {
				return false, err
			}
			counted = true
			return true, nil
		},
		Write: func(ctx context.Context, p *workflow.Progress, etag string) error {
			_, err := r.Store.Replace(ctx, p, etag)
			if failure.Is(err, failure.Conflict) { // what is there is another's
				counted = false
			}
			return err
		},
	}.Do(ctx)
	switch {
	case failure.Is(err, failure.NotFound):
		return nil
	case err != nil:
		return fmt.Errorf("dead letter of transaction %s: %w", id, err)
	}
	if counted {
		r.LogState(ctx, before, p)
	}
	if send {
		r.wakeAnew(ctx, p)
	}
	return nil
}

// count counts a dead letter, and raises the wake that takes its place, or leaves
// the transaction to an operator.
func (r *Engine) count(p *workflow.Progress) error {
	now := r.Now()
	p.DeadLetters++
	switch live := p.Lease.Live(now); {
	case live: // whoever holds the lease is getting on with it
		p.RaiseWake(p.Lease.Until.Add(LeaseMargin))
	case p.DeadLetters > r.Budgets.DeadLetters:
		if err := stick(p, fmt.Sprintf("%d messages were dead-lettered", p.DeadLetters), now, r.Budgets.Limits()); err != nil {
			return err
		}
	default:
		p.RaiseWake(now.Add(r.Budgets.Backoff(r.Jitter()).Delay(p.DeadLetters)))
	}
	p.DeadWake = p.Wake
	return nil
}

// wakeAnew sends the current wake, maybe again. It is saved, so that Sweep finds what
// can't be sent.
func (r *Engine) wakeAnew(ctx context.Context, p *workflow.Progress) {
	if err := r.Successor(ctx, p); err != nil {
		r.Log.WarnContext(ctx, "wake of a dead letter is left to Sweep", telemetry.KeyTransaction, p.ID, telemetry.KeyError, err)
	}
}

// stick takes the transaction from a runner that may still believe to have the
// lease: the epoch tells it.
func stick(p *workflow.Progress, reason string, now time.Time, l workflow.Limits) error {
	p.Lease.Epoch++
	p.Abandoned()
	if err := p.Stick(reason, now, l); err != nil {
		return err
	}
	p.Saves++
	return nil
}
