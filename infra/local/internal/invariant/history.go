package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// leads are the states that a transition may lead from, and to. It says again what
// the workflow's transitions say, so that neither goes wrong unseen.
var leads = map[workflow.Transition]struct{ from, to []workflow.State }{
	workflow.TransitionStart:      {states(workflow.Accepted), states(workflow.Running)},
	workflow.TransitionComplete:   {states(workflow.Running), states(workflow.Completed)},
	workflow.TransitionChange:     {states(workflow.Running, workflow.Completed), states(workflow.Running)},
	workflow.TransitionReject:     {states(workflow.Accepted, workflow.Running), states(workflow.Rejected)},
	workflow.TransitionCancel:     {states(workflow.Accepted, workflow.Running), states(workflow.Cancelled)},
	workflow.TransitionCompensate: {states(workflow.Running, workflow.Completed), states(workflow.Compensating)},
	workflow.TransitionExtend:     {states(workflow.Running), states(workflow.Running)},
	workflow.TransitionResume:     {states(workflow.Compensating), states(workflow.Running)},
	workflow.TransitionEndUndo:    {states(workflow.Compensating), states(workflow.Compensated, workflow.Cancelled)},
	workflow.TransitionStick:      {states(workflow.Accepted, workflow.Running, workflow.Compensating), states(workflow.Stuck)},
	workflow.TransitionRetryUndo:  {states(workflow.Stuck), states(workflow.Compensating)},
	workflow.TransitionRetryRun:   {states(workflow.Stuck), states(workflow.Accepted, workflow.Running)},
	workflow.TransitionGiveUp:     {states(workflow.Stuck), states(workflow.GivenUp)},
	workflow.TransitionHasten:     {opens, opens},
}

var opens = states(workflow.Accepted, workflow.Running, workflow.Compensating)

func states(all ...workflow.State) []workflow.State { return all }

// checkHistory wants each entry to lead on from the one before it, the last one
// to the present state.
func checkHistory(x *index, f *trial.Findings) {
	for _, id := range x.ids {
		p := x.transactions[id]
		f.Checked++
		if len(p.History) == 0 {
			if p.State != workflow.Accepted {
				f.Broken(id, "history", "it is %s, and nobody knows how", p.State)
			}
			continue
		}
		if len(p.History) < workflow.MaxHistory { // otherwise some of it is forgotten
			checkWay(p, f)
		}
		last := p.History[len(p.History)-1]
		if last.State != p.State {
			f.Broken(id, "history", "it is %s, its history ends with %s", p.State, last.State)
		}
		if p.State.Final() && !p.EndedAt.Equal(last.At.Time) {
			f.Broken(id, "history", "it ended at %s, its history at %s", p.EndedAt, last.At)
		}
	}
}

// checkWay follows a history from its beginning.
func checkWay(p *workflow.Progress, f *trial.Findings) {
	at := workflow.Accepted
	for _, e := range p.History {
		way, known := leads[e.Transition]
		if !known || !slices.Contains(way.from, at) || !slices.Contains(way.to, e.State) ||
			e.Transition == workflow.TransitionHasten && e.State != at {
			f.Broken(p.ID, "history", "%s has led from %s to %s", e.Transition, at, e.State)
		}
		at = e.State
	}
}
