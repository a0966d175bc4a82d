package engine

import (
	"context"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Supervise undoes, for a message of the compensations queue, as far as it can
// be done now. Nil means that the message is finished with. ErrUnknownTransaction,
// and ErrUnreadable for an operation, which is Schedule's to handle, mean
// that it belongs into the quarantine; any other error that it must come again.
func (r *Engine) Supervise(ctx context.Context, e Envelope) error {
	if e.Operation != "" {
		return fmt.Errorf("%w: operation %s of transaction %s in the compensations queue", ErrUnreadable, e.OperationID, e.TransactionID)
	}
	return r.newSession(undoing{r}).handle(ctx, e)
}

// undoing is what Supervise does differently.
type undoing struct{ r *Engine }

func (w undoing) Queue() workflow.Queue { return workflow.QueueCompensations }

func (w undoing) Acts(s workflow.State) bool { return s == workflow.Compensating }

func (w undoing) Missing(e Envelope) (*workflow.Progress, error) {
	return nil, fmt.Errorf("transaction %s, wake %d: %w", e.TransactionID, e.Wake, ErrUnknownTransaction)
}

func (w undoing) Advance(p *workflow.Progress, t workflow.Turn) error {
	return w.r.Definition.Unwind(p, t)
}

func (w undoing) Call(p *workflow.Progress, step string) workflow.Call {
	return w.r.Definition.UndoOf(p, step)
}

func (w undoing) Record(p *workflow.Progress, results []workflow.Finished, b workflow.Backoff, t workflow.Turn) error {
	return w.r.Definition.RecordUndo(p, results, b, t.Limits, t.Now)
}
