package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Budgets are the limits of the work on a transaction. All must be positive.
type Budgets struct {
	CallTimeout       time.Duration // one attempt of one call, unless its step says otherwise
	StepTimeout       time.Duration // the in-place attempts of one step
	InvocationTimeout time.Duration // no call starts that could end after it
	Lease             time.Duration // from a save to the end of the lease
	LaterMin          time.Duration // the first delay of a later wake
	LaterMax          time.Duration // the longest
	CompleteBy        time.Duration // from the start of a run to its expiry
	DocumentTTL       time.Duration // that a final transaction is kept; whole seconds
	// SaveEvery is how long a first run that goes well may go on without a save. 0 is
	// a save after each stage.
	SaveEvery       time.Duration
	InPlaceAttempts int  // of a call, in one go
	UndoAttempts    int  // wakes after which a sent undo has failed, before Stuck
	DeadLetters     int  // of one transaction, as Progress counts them, before Stuck
	Notify          bool // tell somebody when a transaction comes to rest
}

// LeaseMargin is added to what must remain of a lease before a call starts, and
// to the lease's end before others count it as over: for the difference
// between the clocks of two machines.
const LeaseMargin = 5 * time.Second

// saveTimeout bounds a save, with its repeats, and a send. Both outlive the
// cancellation of the invocation, since what was called has to be recorded.
const saveTimeout = 15 * time.Second

func (b Budgets) validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"call time-out": b.CallTimeout, "step time-out": b.StepTimeout, "invocation time-out": b.InvocationTimeout,
		"lease": b.Lease, "first later": b.LaterMin, "longest later": b.LaterMax,
		"complete by": b.CompleteBy, "document TTL": b.DocumentTTL,
		"in-place attempts": time.Duration(b.InPlaceAttempts), "undo attempts": time.Duration(b.UndoAttempts),
		"dead letters": time.Duration(b.DeadLetters),
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s is not positive", name))
		}
	}
	if b.SaveEvery < 0 || b.SaveEvery >= b.Lease {
		errs = append(errs, fmt.Errorf("a save every %s: from 0 to less than a lease, %s", b.SaveEvery, b.Lease))
	}
	if b.InvocationTimeout < b.StepTimeout {
		errs = append(errs, fmt.Errorf("an invocation's time %s is shorter than a step's %s", b.InvocationTimeout, b.StepTimeout))
	}
	return errors.Join(errs...)
}

// validateCall tells whether a call of a step fits into the other budgets.
func (b Budgets) validateCall(step string, call time.Duration) error {
	switch {
	case b.StepTimeout < call:
		return fmt.Errorf("step %s: its call's time %s is longer than a step's %s", step, call, b.StepTimeout)
	case b.Lease <= call+LeaseMargin:
		return fmt.Errorf("step %s: a lease of %s leaves no room for its call of %s and %s", step, b.Lease, call, LeaseMargin)
	}
	return nil
}

// Limits returns the budgets that decisions depend on.
func (b Budgets) Limits() workflow.Limits {
	return workflow.Limits{CompleteBy: b.CompleteBy, DocumentTTL: b.DocumentTTL, UndoAttempts: b.UndoAttempts, Notify: b.Notify}
}

// Backoff returns the schedule of later wakes.
func (b Budgets) Backoff(jitter float64) workflow.Backoff {
	return workflow.Backoff{Min: b.LaterMin, Max: b.LaterMax, Jitter: jitter}
}
