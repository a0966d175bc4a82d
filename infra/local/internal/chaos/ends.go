package chaos

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ends are the states that a request may end in, whatever is broken on its
// way: faults delay, they decide nothing. But what would be Rejected is undone if
// something may have been done before, as doubtful tells. undoRefused tells whether a
// fault refuses to undo its effects.
func ends(s sending, doubtful, undoRefused bool) []workflow.State {
	states := append([]workflow.State{s.Kind.End}, s.Or...)
	if doubtful && slices.Contains(states, workflow.Rejected) {
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

// doubtful reports whether a transaction shows why it was undone and not Rejected: the
// step that was refused had been tried before, without an answer or by a runner that
// died or lost its lease. A run that nothing happened to marks its steps as well, and
// calls no undo for that (ADR 28).
func doubtful(p *workflow.Progress) bool {
	return slices.ContainsFunc(p.Steps, func(s workflow.StepProgress) bool { return s.Error != nil && s.Attempts > 1 })
}

// checkEnds finds the requests that have ended as they must not. One that has
// not ended at all is another's to find.
func checkEnds(outcomes []outcome, transactions map[string]*workflow.Progress, undoRefused func(transactionID string) bool) []Finding {
	findings := []Finding{}
	for _, o := range outcomes {
		p := transactions[o.transactionID]
		if p == nil || !p.State.Final() {
			continue
		}
		if may := ends(o.sending, doubtful(p), undoRefused(p.ID)); !slices.Contains(may, p.State) {
			findings = append(findings, Finding{p.ID, "a request of the kind " + o.Kind.Name + " has ended " + string(p.State)})
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
