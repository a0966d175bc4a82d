package operate

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Summary is a transaction in a list.
type Summary struct {
	ID       string         `json:"id"`
	State    workflow.State `json:"state"`
	Cause    workflow.Cause `json:"cause,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Caller   string         `json:"caller,omitempty"` // whose it is, if callers are known
	Revision int            `json:"revision"`
	// Unusual are the troubles that it has; none for one that does well.
	Unusual []Trouble `json:"unusual"`
	// Since is when it came into its state.
	Since workflow.Instant `json:"since,omitzero"`
	// Step is where it stands: the step that keeps it, or that has ended it; "" for
	// one that has not begun, or has ended well. Attempts counts the calls of that
	// step, those of its undo where it is being undone. LastError is what the last
	// failed one of them came to, for people.
	Step        string           `json:"step,omitempty"`
	Attempts    int              `json:"attempts,omitempty"`
	LastError   string           `json:"lastError,omitempty"`
	LastErrorAt workflow.Instant `json:"lastErrorAt,omitzero"`
	// ChangedAt is when the document was last written, to the second.
	ChangedAt   workflow.Instant `json:"changedAt,omitzero"`
	AcceptedAt  workflow.Instant `json:"acceptedAt,omitzero"`
	EndedAt     workflow.Instant `json:"endedAt,omitzero"`
	WakeAt      workflow.Instant `json:"wakeAt,omitzero"`
	DeadLetters int              `json:"deadLetters,omitempty"`
	// Overdue is set for one whose wake nobody has answered for so long that
	// Sweep should have come to it.
	Overdue bool `json:"overdue"`
}

// Trouble is what is unusual about a transaction, in a word.
type Trouble string

// The troubles. The first four are what the last attempt at the step came to that
// keeps a transaction, or has ended it.
const (
	Unreachable Trouble = "unreachable"  // no answer: nobody there, or too late
	Failing     Trouble = "failing"      // the service answered that it can't, or nonsense
	Forbidden   Trouble = "forbidden"    // the service doesn't let us in: 401, 403
	Refused     Trouble = "refused"      // the service said no
	Overdue     Trouble = "overdue"      // its wake goes unanswered
	DeadLetters Trouble = "dead-letters" // its messages fail as a whole
)

// Troubles are all troubles.
var Troubles = []Trouble{Unreachable, Failing, Forbidden, Refused, Overdue, DeadLetters}

// overdueAfter is longer than Sweep needs to find an overdue wake.
const overdueAfter = 2 * time.Minute

func overdue(wakeAt workflow.Instant, now time.Time) bool {
	return !wakeAt.IsZero() && now.Sub(wakeAt.Time) > overdueAfter
}

// summarize returns what a list says of a transaction at now. It reads what Listed
// has.
func summarize(p *workflow.Progress, now time.Time) Summary {
	s := Summary{
		ID: p.ID, State: p.State, Cause: p.Cause, Reason: p.Reason, Caller: p.Caller, Revision: p.Revision, Unusual: []Trouble{},
		Since: since(p), AcceptedAt: p.AcceptedAt, EndedAt: p.EndedAt, WakeAt: p.WakeAt, DeadLetters: p.DeadLetters,
		Overdue: overdue(p.WakeAt, now),
	}
	if step, undo := standsAt(p); step != nil {
		s.Step, s.Attempts = step.Name, step.Attempts
		failed := step.Error
		if undo {
			s.Attempts, failed = step.UndoAttempts, step.UndoError
		}
		if failed != nil {
			s.LastError, s.LastErrorAt = InWords(failed), failed.At
			s.Unusual = append(s.Unusual, troubleOf(failed, step, undo && p.State == workflow.Stuck))
		}
	}
	if s.Overdue {
		s.Unusual = append(s.Unusual, Overdue)
	}
	if s.DeadLetters > 0 {
		s.Unusual = append(s.Unusual, DeadLetters)
	}
	return s
}

// since returns when a transaction came into its state. What stands in its history
// without a change of the state began earlier.
func since(p *workflow.Progress) workflow.Instant {
	at := p.AcceptedAt
	for _, e := range slices.Backward(p.History) {
		if e.State != p.State {
			break
		}
		at = e.At
	}
	return at
}

// standsAt returns the step that keeps a transaction, or has ended it, and whether
// it is that step's undo; nil for none.
func standsAt(p *workflow.Progress) (step *workflow.StepProgress, undo bool) {
	first := func(is func(*workflow.StepProgress) bool) *workflow.StepProgress {
		for i := range p.Steps {
			if is(&p.Steps[i]) {
				return &p.Steps[i]
			}
		}
		return nil
	}
	rejected := first(func(s *workflow.StepProgress) bool { return s.State == workflow.StepRejected })
	failed := first(func(s *workflow.StepProgress) bool { return s.Error != nil })
	switch {
	case p.State == workflow.Completed, p.State == workflow.Cancelled:
		return nil, false
	case p.State == workflow.Rejected, p.State == workflow.Compensated:
		return cmp.Or(rejected, failed), false
	case p.State == workflow.Compensating, p.State == workflow.GivenUp, p.State == workflow.Stuck && p.Cause != "":
		undoing := func(s *workflow.StepProgress) bool { return s.State == workflow.StepUndoing }
		return cmp.Or(
			first(func(s *workflow.StepProgress) bool { return undoing(s) && s.UndoError != nil }),
			first(undoing),
		), true
	}
	return cmp.Or(
		rejected,
		first(func(s *workflow.StepProgress) bool { return s.State != workflow.StepSucceeded && s.Error != nil }),
		first(func(s *workflow.StepProgress) bool { return s.State == workflow.StepStarted }),
		first(func(s *workflow.StepProgress) bool { return s.State == workflow.StepPending }),
	), false
}

// troubleOf says in a word what a failed attempt came to. stuck tells that the
// undo is not tried again by itself.
func troubleOf(e *workflow.StepError, step *workflow.StepProgress, stuck bool) Trouble {
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return Forbidden
	case step.State == workflow.StepRejected, stuck && e.Status >= 400 && e.Status < 500:
		return Refused
	case e.Status == 0:
		return Unreachable
	}
	return Failing
}

// InWords returns what a failed attempt came to, for people.
func InWords(e *workflow.StepError) string {
	text := e.Message
	if e.Type != "" {
		text = e.Type + ": " + text
	}
	if e.Status != 0 {
		text = fmt.Sprintf("%d %s", e.Status, text)
	}
	return text
}
