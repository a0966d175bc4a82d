package engine

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Attempt is one call of a workflow, with what the service needs to know to
// tell a repeat from something new.
type Attempt struct {
	TransactionID string
	// OperationID is the operation that the call serves: the start, or the
	// reschedule or cancel that was taken up.
	OperationID string
	Revision    int
	Call        workflow.Call
	Undo        bool
	// Step is whose call, or undo call, it is; Number counts those of all
	// revisions and wakes, from 1.
	Step   string
	Number int
	// Timeout is how long the attempt may take in all. 0 leaves it to the caller.
	Timeout time.Duration
}

// Backends makes calls. Do makes one attempt, bounded by its Timeout, and judges it;
// whatever goes wrong is in the outcome. The trace of the context goes with it. It is
// safe for concurrent use.
type Backends interface {
	Do(ctx context.Context, a Attempt) workflow.Outcome
}

// Sender sends messages to queues, all or, with an error, an unknown part of
// them. The kind of the error is Invalid if a queue can never take one. It is safe for
// concurrent use.
type Sender interface {
	Send(ctx context.Context, messages ...Queued) error
}

// Outside keeps the operations that are on record outside of their transactions.
// Implementations are safe for concurrent use and give errors whose kind
// failure.KindOf tells.
type Outside interface {
	// Create stores o unless there is one with its id. After an error it may be
	// stored or not.
	Create(ctx context.Context, o workflow.OutsideOperation) error
	// Read returns an operation by its OperationID. NotFound if there is none.
	Read(ctx context.Context, operationID string) (workflow.OutsideOperation, error)
}

// work is what Schedule and Supervise do differently. Its functions are pure.
type work interface {
	// Queue is the queue whose messages are worked on.
	Queue() workflow.Queue
	// Acts reports whether it works on transactions in that state.
	Acts(workflow.State) bool
	// Missing returns the document with which a transaction begins, or the
	// error with which a message without a document is refused.
	Missing(e Envelope) (*workflow.Progress, error)
	// Advance decides and marks what is to be called.
	Advance(p *workflow.Progress, t workflow.Turn) error
	// Call returns the call to be made for a step in flight.
	Call(p *workflow.Progress, step string) workflow.Call
	// Record writes the results of all steps in flight.
	Record(p *workflow.Progress, results []workflow.Finished, b workflow.Backoff, t workflow.Turn) error
}
