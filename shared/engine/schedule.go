package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Schedule does what a message of the transactions queue asks for, as far as it
// can be done now: it takes a transaction from its first message to Completed or
// Rejected, or hands it to Supervise to be undone. Nil means that the message is
// finished with. ErrUnknownTransaction and ErrTooOld mean that it belongs into
// the quarantine; any other error that it must come again.
func (r *Engine) Schedule(ctx context.Context, e Envelope) error {
	return r.newSession(scheduling{r}).handle(ctx, e)
}

// ScheduleWithin is Schedule for one who can't wait for a slow transaction. After
// patience no further stage and no repeat of a call begins: what is under way ends
// and is saved with a wake that is due at once, and Schedule goes on.
func (r *Engine) ScheduleWithin(ctx context.Context, e Envelope, patience time.Duration) error {
	s := r.newSession(scheduling{r})
	s.patience = r.Now().Add(patience)
	return s.handle(ctx, e)
}

// scheduling is what Schedule does differently.
type scheduling struct{ r *Engine }

func (w scheduling) Queue() workflow.Queue { return workflow.QueueTransactions }

func (w scheduling) Acts(s workflow.State) bool {
	return s == workflow.Accepted || s == workflow.Running || s == workflow.Completed
}

func (w scheduling) Missing(e Envelope) (*workflow.Progress, error) {
	if e.Operation == "" {
		return nil, fmt.Errorf("transaction %s, wake %d: %w", e.TransactionID, e.Wake, ErrUnknownTransaction)
	}
	now := w.r.Now()
	if age := now.Sub(e.AcceptedAt); age > w.r.Budgets.DocumentTTL {
		return nil, fmt.Errorf("transaction %s, operation %s of %s: %w",
			e.TransactionID, e.OperationID, e.AcceptedAt.Format(time.RFC3339), ErrTooOld)
	}
	return w.r.Definition.New(e.TransactionID, now, w.r.Budgets.Limits()), nil
}

func (w scheduling) Advance(p *workflow.Progress, t workflow.Turn) error {
	return w.r.Definition.Advance(p, t)
}

func (w scheduling) Call(p *workflow.Progress, step string) workflow.Call {
	return w.r.Definition.CallOf(p, step)
}

func (w scheduling) Record(p *workflow.Progress, results []workflow.Finished, b workflow.Backoff, t workflow.Turn) error {
	w.r.Definition.Record(p, results, b, t.Now)
	return nil
}
