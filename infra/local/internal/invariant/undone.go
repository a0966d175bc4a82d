package invariant

import (
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// checkUndone looks at every transaction that ended without what was asked for. An
// excused one may have left what it could not undo, any of them what the business
// declares to be irreversible.
func checkUndone(x *index, f *trial.Findings) {
	for _, id := range x.ids {
		p := x.transactions[id]
		if p.State == workflow.Completed {
			x.checkKept(p, f)
			continue
		}
		if !p.Rests() {
			continue
		}
		f.Checked++
		for _, e := range x.Subject.effects {
			if e.Undo != nil { // otherwise it is declared to be irreversible
				x.checkStepUndone(p, e.Name, f)
			}
		}
	}
}

func (x *index) checkStepUndone(p *workflow.Progress, step string, f *trial.Findings) {
	s := p.Step(step)
	live, traces := x.live[place{step, p.ID}], x.traces[place{step, p.ID}]
	switch {
	case s == nil || s.State != workflow.StepUndone && s.Effect == workflow.EffectNo:
		if len(traces) > 0 || len(live) > 0 {
			f.Broken(p.ID, "half done", "it is %s and knows of no effect, but there is a %s", p.State, step)
		}
	case s.State == workflow.StepUndone:
		if s.Effect == workflow.EffectNo { // it was marked, and not called (ADR 28)
			f.Broken(p.ID, "nothing to undo", "%s was undone, and no call of it can have had an effect", step)
		}
		if len(live) > 0 {
			f.Broken(p.ID, "half done", "%v is live, though it counts as undone", live[0])
		}
		at := target(x.definition.UndoOf(p, step), step)
		if e := x.byID[at]; e == nil || !e.buried(p.ID) {
			f.Broken(p.ID, "no tombstone", "a late call could bring %s %s back", step, at.id)
		}
	case !x.excused(p):
		f.Broken(p.ID, "half done", "it is %s, and %s is %s with effect %s", p.State, step, s.State, s.Effect)
	case s.State == workflow.StepSucceeded && len(live) != 1:
		f.Broken(p.ID, "half done", "no undo of %s was begun, and it has %d of it", step, len(live))
	}
}

// checkKept wants no tombstone of a transaction that was completed: it would
// refuse the transaction's own changes.
func (x *index) checkKept(p *workflow.Progress, f *trial.Findings) {
	f.Checked++
	for _, effect := range x.Subject.effects {
		step := effect.Name
		if e := x.byID[target(x.call(p, step), step)]; e != nil && e.buried(p.ID) {
			f.Broken(p.ID, "undone", "%v has its tombstone, and it is Completed", e)
		}
	}
}

func (e *effect) buried(transactionID string) bool {
	_, buried := e.Buried(transactionID)
	return buried
}

// checkOwned wants a transaction behind everything that the backends hold, and
// an operation of that transaction behind each entry of a journal.
func checkOwned(x *index, f *trial.Findings) {
	for _, b := range x.beside {
		f.Checked++
		if x.byID[b.of] == nil {
			f.Broken(b.doc, "orphan", "its tombstone is beside %s %s, which is not there", b.of.step, b.of.id)
		}
	}
	for _, e := range x.effects {
		f.Checked++
		missing := map[string]bool{}
		if x.effectOf(e.step).own {
			missing[e.id] = x.transactions[e.id] == nil
			if e.Live() && e.TransactionID != e.id {
				f.Broken(e.TransactionID, "not its own", "%v is of transaction %s", e, e.id)
			}
		}
		if e.Live() {
			missing[e.TransactionID] = x.transactions[e.TransactionID] == nil
		}
		for _, t := range e.Tombstones {
			missing[t.TransactionID] = x.transactions[t.TransactionID] == nil
		}
		for _, entry := range e.Journal {
			p := x.transactions[entry.TransactionID]
			missing[entry.TransactionID] = p == nil
			if p != nil && p.Operation(entry.OperationID) == nil {
				f.Broken(p.ID, "nobody asked", "%v was %s for operation %q, which is not the transaction's", e, entry.Change, entry.OperationID)
			}
		}
		for id, orphan := range trial.Sorted(missing) {
			if orphan {
				f.Broken(id, "orphan", "%v is there, its transaction is not", e)
			}
		}
	}
}
