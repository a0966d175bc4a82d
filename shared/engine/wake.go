package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Successor sends the transaction's current wake, which must have been saved.
// A transaction that rests has none. Sending one wake again is harmless. Where
// somebody is to be told that it came to rest, the message for that is sent, too:
// a failure of it is none of the transaction's, and left to Sweep.
func (r *Engine) Successor(ctx context.Context, p *workflow.Progress) error {
	if !p.Rests() {
		if err := r.send(ctx, p, p.WakeQueue, p.Wake, p.WakeAt); err != nil {
			return fmt.Errorf("send wake %d of transaction %s: %w", p.Wake, p.ID, err)
		}
	}
	// Who has put notices off has sent the message himself.
	if r.Budgets.Notify && len(p.Outbox.Notices) > 0 && p.Outbox.Laters == 0 {
		if err := r.Announce(ctx, p); err != nil {
			r.Log.WarnContext(ctx, "notices are left to Sweep", telemetry.KeyTransaction, p.ID, telemetry.KeyError, err)
		}
	}
	return nil
}

// Announce sends the message that asks for the delivery of the transaction's
// notices, of the outbox's current number, which must have been saved. Sending
// one again is harmless.
func (r *Engine) Announce(ctx context.Context, p *workflow.Progress) error {
	if err := r.send(ctx, p, workflow.QueueNotifications, p.Outbox.Wake, p.Outbox.At); err != nil {
		return fmt.Errorf("ask for the notices of transaction %s, number %d: %w", p.ID, p.Outbox.Wake, err)
	}
	return nil
}

// send sends the message of a wake, which outlives the invocation.
func (r *Engine) send(ctx context.Context, p *workflow.Progress, queue workflow.Queue, wake int, at workflow.Instant) error {
	body, err := Envelope{
		TransactionID: p.ID, Wake: wake, AcceptedAt: p.AcceptedAt.Time, TraceParent: p.TraceParent, Shard: r.Shard,
	}.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return r.Sender.Send(ctx, Queued{
		Queue:     r.Queues[queue],
		MessageID: WakeID(p.ID, string(queue), wake),
		Body:      body, At: at.Time, TraceParent: p.TraceParent,
	})
}

// LogState tells of a change of state, in one line; that of Stuck is an error,
// since an operator has to look.
func (r *Engine) LogState(ctx context.Context, before workflow.State, p *workflow.Progress) {
	if before == p.State {
		return
	}
	if r.Changed != nil {
		r.Changed(ctx, before, p)
	}
	level, text := slog.LevelInfo, "transaction changed its state"
	if p.State == workflow.Stuck {
		level, text = slog.LevelError, "transaction stuck"
	}
	r.Log.Log(ctx, level, text, telemetry.KeyTransaction, p.ID,
		telemetry.KeyOperation, p.Serving(), telemetry.KeyState, p.State, "from", before, "cause", p.Cause, telemetry.KeyReason, p.Reason)
}
