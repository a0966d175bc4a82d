package operate

import (
	"fmt"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Event is something that has happened to a transaction.
type Event struct {
	At   workflow.Instant `json:"at"`
	Kind EventKind        `json:"kind"`
	Step string           `json:"step,omitempty"` // whose call or undo it is
	By   string           `json:"by,omitempty"`   // the operator, empty for the system
	What string           `json:"what"`           // for people
}

// EventKind tells what an Event is about.
type EventKind string

// The kinds.
const (
	EventOperation  EventKind = "operation"  // a client's wish
	EventState      EventKind = "state"      // of the transaction
	EventStep       EventKind = "step"       // a call
	EventUndo       EventKind = "undo"       // an undo's call
	EventQuarantine EventKind = "quarantine" // an entry, or what was made of it
)

// Timeline is what has happened to a transaction, with its entries in the quarantine, in
// the order of time. Of what happened at the same millisecond, causes come before their
// effects. Of a step's attempts the document has the number, the first, and the last that
// failed.
func Timeline(p *workflow.Progress, entries []quarantine.Entry) []Event {
	events := []Event{}
	add := func(at workflow.Instant, e Event, format string, args ...any) {
		if !at.IsZero() {
			e.At, e.What = at, fmt.Sprintf(format, args...)
			events = append(events, e)
		}
	}
	became := func(e workflow.StateChange) {
		add(e.At, Event{Kind: EventState, By: e.By}, "%s (%s)%s", e.State, e.Transition, Because("", e.Reason))
	}
	for _, o := range p.Operations {
		add(o.AcceptedAt, Event{Kind: EventOperation}, "operation %s (%s) was accepted", o.ID, o.Kind)
	}
	for _, e := range p.History {
		if e.Transition == workflow.TransitionStart {
			became(e)
		}
	}
	for _, s := range p.Steps {
		call, undo := Event{Kind: EventStep, Step: s.Name}, Event{Kind: EventUndo, Step: s.Name}
		add(s.StartedAt, call, "step %s was first called", s.Name)
		if s.Error != nil {
			add(s.Error.At, call, "step %s failed, attempt %d: %s", s.Name, s.Attempts, InWords(s.Error))
		}
		if s.UndoError != nil {
			add(s.UndoError.At, undo, "undo of step %s failed, attempt %d: %s", s.Name, s.UndoAttempts, InWords(s.UndoError))
		}
		switch s.State {
		case workflow.StepSucceeded:
			add(s.EndedAt, call, "step %s has succeeded, revision %d, attempt %d", s.Name, s.Revision, s.Attempts)
		case workflow.StepUndone:
			add(s.EndedAt, undo, "step %s was undone, attempt %d", s.Name, s.UndoAttempts)
		}
	}
	for _, o := range p.Operations {
		add(o.EndedAt, Event{Kind: EventOperation}, "operation %s (%s) is %s%s", o.ID, o.Kind, o.State, Because("", o.Reason))
	}
	for _, e := range entries {
		add(workflow.At(e.At), Event{Kind: EventQuarantine}, "%s was put into quarantine%s", e.ID, Because(e.Reason, e.Detail))
		for _, a := range e.Acts {
			add(workflow.At(a.At), Event{Kind: EventQuarantine, By: a.By}, "%s of %s%s%s", a.Act, e.ID, Because("", a.Why), Because("", a.Result))
		}
	}
	for _, e := range p.History {
		if e.Transition != workflow.TransitionStart {
			became(e)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At.Time) })
	return events
}

// Because adds why something is so, by a short code and for people.
func Because(code, reason string) string {
	text := ""
	if code != "" {
		text = " (" + code + ")"
	}
	if reason != "" {
		text += ": " + reason
	}
	return text
}
