// Package supervise looks after the transactions that do not go well: it undoes
// (the compensations queue), wakes those that nobody works on (Sweep), and
// counts dead letters until an operator is needed.
package supervise

import (
	"context"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/runner"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Service is the work of the Supervise, Sweep and dead-letter functions. It is
// safe for concurrent use.
type Service struct {
	runner     *runner.Runner
	operations Receiver
}

// Receiver puts operations on record; the Schedule function's service does.
type Receiver interface {
	// Receive reports whether the operation was new. Its errors are those of
	// runner.Runner.Receive.
	Receive(ctx context.Context, e message.Envelope) (fresh bool, err error)
}

// New returns the service.
func New(r *runner.Runner, operations Receiver) *Service {
	return &Service{runner: r, operations: operations}
}

// Handle undoes, as far as it can be done now. Nil means that the message is
// finished with. runner.ErrUnknownTransaction, and message.ErrUnreadable for an
// operation, which is Schedule's to handle, mean that it belongs into the
// quarantine; any other error that it must come again.
func (s *Service) Handle(ctx context.Context, e message.Envelope) error {
	if e.Operation != "" {
		return fmt.Errorf("%w: operation %s of transaction %s in the compensations queue", message.ErrUnreadable, e.OperationID, e.TransactionID)
	}
	return s.runner.Handle(ctx, work{s.runner}, runner.MessageOf(e))
}

type work struct{ r *runner.Runner }

func (w work) Queue() workflow.Queue { return workflow.QueueCompensations }

func (w work) Acts(s workflow.State) bool { return s == workflow.Compensating }

func (w work) Missing(m runner.Message) (*workflow.Progress, error) {
	return nil, fmt.Errorf("transaction %s, wake %d: %w", m.TransactionID, m.Wake, runner.ErrUnknownTransaction)
}

func (w work) Advance(p *workflow.Progress, t workflow.Turn) error {
	return w.r.Definition.Unwind(p, t)
}

func (w work) Call(p *workflow.Progress, step string) runner.Request {
	return runner.Request{
		TransactionID: p.ID, OperationID: p.Serving(), Revision: p.Revision,
		Call: w.r.Definition.UndoOf(p, step), Undo: true,
	}
}

func (w work) Record(p *workflow.Progress, results []workflow.Finished, b workflow.Backoff, t workflow.Turn) error {
	return w.r.Definition.RecordUndo(p, results, b, t.Limits, t.Now)
}
