package chaos

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ends are the states that a request may end in, whatever is broken on its
// way: faults delay, they decide nothing. But where a first step has an effect,
// an answer may be lost before the refusal: nobody knows then that nothing was
// done, and what would be Rejected is undone. undoRefused tells whether a fault
// refuses to undo its effects.
func ends(d workflow.Definition, s sending, undoRefused bool) []workflow.State {
	states := append([]workflow.State{s.Kind.End}, s.Or...)
	if slices.Contains(states, workflow.Rejected) && slices.ContainsFunc(d.Steps, func(s workflow.Step) bool { return len(s.After) == 0 && s.Undo != nil }) {
		states = append(states, workflow.Compensated)
	}
	undone := slices.Contains(states, workflow.Compensated)
	for _, a := range s.Acts {
		if a.Kind == workflow.OperationCancel {
			states, undone = append(states, workflow.Cancelled), true
			break
		}
	}
	if undone && undoRefused {
		states = append(states, workflow.Stuck)
	}
	return states
}

// checkEnds finds the requests that have ended as they must not. One that has
// not ended at all is another's to find.
func checkEnds(d workflow.Definition, outcomes []outcome, state func(transactionID string) workflow.State, undoRefused func(transactionID string) bool) []Finding {
	findings := []Finding{}
	for _, o := range outcomes {
		s := state(o.transactionID)
		if o.transactionID == "" || !s.Final() {
			continue
		}
		if may := ends(d, o.sending, undoRefused(o.transactionID)); !slices.Contains(may, s) {
			findings = append(findings, Finding{o.transactionID, "a request of the kind " + o.Kind.Name + " has ended " + string(s)})
		}
	}
	return findings
}

// lost counts the requests that a rival was before.
func lost(outcomes []outcome, state func(transactionID string) workflow.State) int {
	n := 0
	for _, o := range outcomes {
		if slices.Contains(o.Or, state(o.transactionID)) {
			n++
		}
	}
	return n
}

// checkCancels finds the clients that were told that their cancel has failed, by
// the answer or by its operation, although it took effect. Where several ask for a
// transaction's end, one is enough.
func checkCancels(cancels []cancelled, state func(transactionID string) workflow.State,
	operation func(operationID string) workflow.OperationState) []Finding {
	findings := []Finding{}
	for _, c := range cancels {
		if !c.alone || state(c.transactionID) != workflow.Cancelled {
			continue
		}
		switch o := operation(c.operationID); {
		case c.end == wasRefused:
			findings = append(findings, Finding{c.transactionID, "its cancel was refused, and it is Cancelled"})
		case c.end == wasAccepted && o != workflow.OperationApplied:
			findings = append(findings, Finding{c.transactionID, "its cancel " + c.operationID + " is " + string(o) + ", and it is Cancelled"})
		}
	}
	return findings
}
