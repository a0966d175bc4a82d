package invariant

import (
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// completed calls visit for each transaction that is Completed.
func (x *index) completed(visit func(*workflow.Progress)) {
	for _, id := range x.ids {
		if p := x.transactions[id]; p.State == workflow.Completed {
			visit(p)
		}
	}
}

func checkCompleted(x *index, f *trial.Findings) {
	x.completed(func(p *workflow.Progress) {
		f.Checked++
		for _, step := range x.definition.Steps {
			s := p.Step(step.Name)
			switch {
			case s == nil || s.State != workflow.StepSucceeded || s.Revision == 0:
				f.Broken(p.ID, "step", "%s has not succeeded", step.Name)
			case s.Effect != workflow.EffectYes:
				f.Broken(p.ID, "step", "the effect of %s is %s", step.Name, s.Effect)
			case x.effectOf(step.Name) != nil:
				x.checkWhole(p, step.Name, f)
			}
		}
	})
}

// checkWhole wants the one live record of a step, where the step's call has put
// it.
func (x *index) checkWhole(p *workflow.Progress, step string, f *trial.Findings) {
	at := target(x.call(p, step), step)
	live := x.live[place{step, p.ID}]
	if len(live) > 1 {
		f.Broken(p.ID, "doubled", "it has %d of %s: %v", len(live), step, live)
	}
	e := x.byID[at]
	switch {
	case e == nil:
		f.Broken(p.ID, "missing", "there is no %s %s", step, at.id)
	case e.TransactionID != p.ID:
		f.Broken(p.ID, "missing", "%v belongs to %q", e, e.TransactionID)
	}
}
