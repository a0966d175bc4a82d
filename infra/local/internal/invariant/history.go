package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// leads are the states that an event may lead from, and to. It says again what
// the workflow's transitions say, so that neither goes wrong unseen.
var leads = map[workflow.Event]struct{ from, to []workflow.State }{
	workflow.EventStart:      {states(workflow.Accepted), states(workflow.Running)},
	workflow.EventComplete:   {states(workflow.Running), states(workflow.Completed)},
	workflow.EventChange:     {states(workflow.Running, workflow.Completed), states(workflow.Running)},
	workflow.EventReject:     {states(workflow.Accepted, workflow.Running), states(workflow.Rejected)},
	workflow.EventCancel:     {states(workflow.Accepted, workflow.Running), states(workflow.Cancelled)},
	workflow.EventCompensate: {states(workflow.Running, workflow.Completed), states(workflow.Compensating)},
	workflow.EventExtend:     {states(workflow.Running), states(workflow.Running)},
	workflow.EventResume:     {states(workflow.Compensating), states(workflow.Running)},
	workflow.EventEndUndo:    {states(workflow.Compensating), states(workflow.Compensated, workflow.Cancelled)},
	workflow.EventStick:      {states(workflow.Accepted, workflow.Running, workflow.Compensating), states(workflow.Stuck)},
	workflow.EventRetryUndo:  {states(workflow.Stuck), states(workflow.Compensating)},
	workflow.EventRetryRun:   {states(workflow.Stuck), states(workflow.Accepted, workflow.Running)},
	workflow.EventGiveUp:     {states(workflow.Stuck), states(workflow.GivenUp)},
}

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
		way, known := leads[e.Event]
		if !known || !slices.Contains(way.from, at) || !slices.Contains(way.to, e.State) {
			f.Broken(p.ID, "history", "%s has led from %s to %s", e.Event, at, e.State)
		}
		at = e.State
	}
}
