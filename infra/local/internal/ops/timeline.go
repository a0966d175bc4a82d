package ops

import (
	"fmt"
	"slices"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// event is something that has happened.
type event struct {
	at   workflow.Instant
	what string
}

// timeline is what has happened to a transaction, in the order of time. Of what
// happened at the same millisecond, causes come before their effects.
func timeline(s operate.Story) []event {
	p := s.Transaction
	var events []event
	add := func(at workflow.Instant, format string, args ...any) {
		if !at.IsZero() {
			events = append(events, event{at, fmt.Sprintf(format, args...)})
		}
	}
	for _, o := range p.Operations {
		add(o.AcceptedAt, "operation %s (%s) was accepted", line(o.ID), o.Kind)
	}
	for _, e := range p.History {
		if e.Transition == workflow.TransitionStart {
			add(e.At, "%s", became(e))
		}
	}
	for _, step := range p.Steps {
		addStep(add, step)
	}
	for _, o := range p.Operations {
		add(o.EndedAt, "operation %s (%s) is %s%s", line(o.ID), o.Kind, o.State, because("", o.Reason))
	}
	for _, e := range s.Quarantine {
		addEntry(add, e)
	}
	for _, e := range p.History {
		if e.Transition != workflow.TransitionStart {
			add(e.At, "%s", became(e))
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at.Time) })
	return events
}

func became(e workflow.StateChange) string {
	text := fmt.Sprintf("%s (%s)%s", e.State, e.Transition, because("", e.Reason))
	if e.By != "" {
		text += " [by " + line(e.By) + "]"
	}
	return text
}

func addStep(add func(workflow.Instant, string, ...any), s workflow.StepProgress) {
	add(s.StartedAt, "step %s was first called", line(s.Name))
	if s.Error != nil {
		add(s.Error.At, "step %s failed, attempt %d: %s", line(s.Name), s.Attempts, failed(s.Error))
	}
	if s.UndoError != nil {
		add(s.UndoError.At, "undo of step %s failed, attempt %d: %s", line(s.Name), s.UndoAttempts, failed(s.UndoError))
	}
	switch s.State {
	case workflow.StepSucceeded:
		add(s.EndedAt, "step %s has succeeded, revision %d, attempt %d", line(s.Name), s.Revision, s.Attempts)
	case workflow.StepUndone:
		add(s.EndedAt, "step %s was undone, attempt %d", line(s.Name), s.UndoAttempts)
	}
}

func addEntry(add func(workflow.Instant, string, ...any), e quarantine.Entry) {
	add(workflow.At(e.At), "%s was put into quarantine%s", line(e.ID), because(e.Reason, e.Detail))
	for _, a := range e.Acts {
		text := fmt.Sprintf("%s of %s%s [by %s]", a.Act, line(e.ID), because("", a.Why), line(a.By))
		if a.Result != "" {
			text += ": " + line(a.Result)
		}
		add(workflow.At(a.At), "%s", text)
	}
}
