package runner

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Successor sends the transaction's current wake, which must have been saved.
// A transaction that rests has none. Sending one wake again is harmless.
func (r *Runner) Successor(ctx context.Context, p *workflow.Progress) error {
	if p.Rests() {
		return nil
	}
	body, err := message.Envelope{
		TransactionID: p.ID, Wake: p.Wake, AcceptedAt: p.AcceptedAt.Time, TraceParent: p.TraceParent,
	}.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	err = r.Sender.Send(ctx, message.Queued{
		Queue:     r.Queues[p.WakeQueue],
		MessageID: message.WakeID(p.ID, string(p.WakeQueue), p.Wake),
		Body:      body, At: p.WakeAt.Time, TraceParent: p.TraceParent,
	})
	if err != nil {
		return fmt.Errorf("send wake %d of transaction %s: %w", p.Wake, p.ID, err)
	}
	return nil
}

// LogState writes one line per change of state; Stuck is an error, since an
// operator has to look.
func (r *Runner) LogState(ctx context.Context, before workflow.State, p *workflow.Progress) {
	if before == p.State {
		return
	}
	level := slog.LevelInfo
	if p.State == workflow.Stuck {
		level = slog.LevelError
	}
	r.Log.Log(ctx, level, "transaction changed its state", telemetry.KeyTransaction, p.ID,
		telemetry.KeyOperation, p.Serving(), telemetry.KeyState, p.State, "from", before, "cause", p.Cause, "reason", p.Reason)
}
