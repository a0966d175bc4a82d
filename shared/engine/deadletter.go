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

// conflictTries is how often a dead letter is counted against others who
// change the document.
const conflictTries = 8

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
	e, _ := Decode(body)
	fresh, err := r.receiveDead(ctx, e)
	if err != nil || fresh {
		return err
	}
	for try := 1; ; try++ {
		err := r.countDeadLetter(ctx, transactionID, e.Wake)
		if err == nil || !failure.Is(err, failure.Conflict) || try == conflictTries {
			return err
		}
	}
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
	p, etag, err := r.Store.Read(ctx, id)
	if failure.Is(err, failure.NotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dead letter of transaction %s: %w", id, err)
	}
	if p.Rests() {
		return nil
	}
	if p.Schema > workflow.Schema {
		return fmt.Errorf("dead letter of transaction %s: its schema %d is newer than %d", id, p.Schema, workflow.Schema)
	}
	if wake < p.DeadWake {
		r.wakeAnew(ctx, p)
		return nil
	}
	before, now := p.State, r.Now()
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
	if _, err := r.Store.Replace(ctx, p, etag); err != nil && !r.counted(ctx, p, err) {
		return fmt.Errorf("dead letter of transaction %s: %w", id, err)
	}
	r.LogState(ctx, before, p)
	r.wakeAnew(ctx, p)
	return nil
}

// wakeAnew sends the current wake, maybe again. It is saved, so that Sweep finds what
// can't be sent.
func (r *Engine) wakeAnew(ctx context.Context, p *workflow.Progress) {
	if err := r.Successor(ctx, p); err != nil {
		r.Log.WarnContext(ctx, "wake of a dead letter is left to Sweep", telemetry.KeyTransaction, p.ID, telemetry.KeyError, err)
	}
}

// counted reports whether a write whose answer was lost took effect.
func (r *Engine) counted(ctx context.Context, p *workflow.Progress, lost error) bool {
	if failure.KindOf(lost) != failure.Transient {
		return false
	}
	is, _, err := r.Store.Read(ctx, p.ID)
	return err == nil && is.DeadLetters == p.DeadLetters && is.Wake == p.Wake
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
