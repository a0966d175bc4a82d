package workflow

// State is where a transaction stands.
type State string

// The states. Completed, Rejected, Compensated, Cancelled and GivenUp are
// final. Stuck is not final: it waits for an operator.
const (
	Accepted     State = "Accepted"
	Running      State = "Running"
	Completed    State = "Completed"
	Rejected     State = "Rejected"
	Compensating State = "Compensating"
	Compensated  State = "Compensated"
	Cancelled    State = "Cancelled"
	Stuck        State = "Stuck"
	GivenUp      State = "GivenUp"
)

// States are all states, in the order in which they are usually reached.
var States = []State{Accepted, Running, Completed, Rejected, Compensating, Compensated, Cancelled, Stuck, GivenUp}

// Final reports whether nothing more happens in s by itself or by an operator.
// A Completed transaction can still be cancelled or rescheduled by its client
// for a while.
func (s State) Final() bool {
	switch s {
	case Completed, Rejected, Compensated, Cancelled, GivenUp:
		return true
	}
	return false
}

// Cause is why a transaction is undone.
type Cause string

// The causes.
const (
	CauseFailed    Cause = "failed"    // a service rejected a step
	CauseExpired   Cause = "expired"   // CompleteBy passed
	CauseCancelled Cause = "cancelled" // the client cancelled
)

// Queue names a queue by its role; settings map it to the queue's name.
type Queue string

// The queues.
const (
	QueueTransactions  Queue = "transactions"
	QueueCompensations Queue = "compensations"
	// QueueNotifications carries no work on transactions, only the news of their
	// rest; no state has it.
	QueueNotifications Queue = "notifications"
)

// Queue returns the queue whose function works on transactions in state s.
func (s State) Queue() Queue {
	if s == Compensating {
		return QueueCompensations
	}
	return QueueTransactions
}
