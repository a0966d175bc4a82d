// Package schedule works on the messages of the deliveries queue: it takes a
// transaction from its first message to Completed or Rejected, or hands it to
// Supervise to be undone. The work itself is in the runner; the decisions are
// the workflow's.
package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/runner"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Service is the Schedule function's work. It is safe for concurrent use.
type Service struct{ runner *runner.Runner }

// New returns the service.
func New(r *runner.Runner) *Service { return &Service{runner: r} }

// Handle does what the message asks for, as far as it can be done now. Nil
// means that the message is finished with. runner.ErrUnknownTransaction and
// runner.ErrTooOld mean that it belongs into the quarantine; any other error
// that it must come again.
func (s *Service) Handle(ctx context.Context, e message.Envelope) error {
	return s.runner.Handle(ctx, work{s.runner}, runner.MessageOf(e))
}

// Receive puts the operation of a dead-lettered message on record, to be done
// with a wake, and reports whether it was new: its message may never have come
// as far. The errors are those of Handle.
func (s *Service) Receive(ctx context.Context, e message.Envelope) (fresh bool, err error) {
	return s.runner.Receive(ctx, work{s.runner}, runner.MessageOf(e))
}

type work struct{ r *runner.Runner }

func (w work) Queue() workflow.Queue { return workflow.QueueDeliveries }

func (w work) Acts(s workflow.State) bool {
	return s == workflow.Accepted || s == workflow.Running || s == workflow.Completed
}

func (w work) Missing(m runner.Message) (*workflow.Progress, error) {
	if m.Operation == nil {
		return nil, fmt.Errorf("transaction %s, wake %d: %w", m.TransactionID, m.Wake, runner.ErrUnknownTransaction)
	}
	now := w.r.Now()
	if age := now.Sub(m.Operation.AcceptedAt); age > w.r.Budgets.DocumentTTL {
		return nil, fmt.Errorf("transaction %s, operation %s of %s: %w",
			m.TransactionID, m.Operation.ID, m.Operation.AcceptedAt.Format(time.RFC3339), runner.ErrTooOld)
	}
	return w.r.Definition.New(m.TransactionID, now, w.r.Budgets.Limits()), nil
}

func (w work) Advance(p *workflow.Progress, t workflow.Turn) error {
	return w.r.Definition.Advance(p, t)
}

func (w work) Call(p *workflow.Progress, step string) runner.Request {
	return runner.Request{
		TransactionID: p.ID, OperationID: p.Serving(), Revision: p.Revision,
		Call: w.r.Definition.CallOf(p, step),
	}
}

func (w work) Record(p *workflow.Progress, results []workflow.Finished, b workflow.Backoff, t workflow.Turn) error {
	w.r.Definition.Record(p, results, b, t.Now)
	return nil
}
