package workflow

import (
	"slices"
	"time"
)

// StateChange is one line of a transaction's history: a change of its state, by the
// system itself or by an operator.
type StateChange struct {
	At         Instant    `json:"at"`
	Transition Transition `json:"event"`
	State      State      `json:"state"` // the one that it led to
	Reason     string     `json:"reason,omitempty"`
	By         string     `json:"by,omitempty"` // the operator, empty for the system
}

// MaxHistory is how many entries a transaction keeps. Beyond it the oldest go,
// but for the first and for what operators did.
const MaxHistory = 100

// UndoingSince returns when the undoing began that is on now, or when an operator
// has last had it tried again; zero if nothing is being undone.
func (p *Progress) UndoingSince() Instant {
	for _, e := range slices.Backward(p.History) {
		if p.State == Compensating && e.State == Compensating && e.Transition != TransitionHasten {
			return e.At
		}
	}
	return Instant{}
}

// note adds an entry about the state that has just been reached.
func (p *Progress) note(transition Transition, by, reason string, now time.Time) {
	p.History = append(p.History, StateChange{At: At(now), Transition: transition, State: p.State, Reason: reason, By: by})
	if len(p.History) <= MaxHistory {
		return
	}
	drop := 1
	for i := 1; i < len(p.History); i++ {
		if p.History[i].By == "" {
			drop = i
			break
		}
	}
	kept := make([]StateChange, 0, MaxHistory)
	p.History = append(append(kept, p.History[:drop]...), p.History[drop+1:]...)
}
