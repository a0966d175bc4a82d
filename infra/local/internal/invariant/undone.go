package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// checkUndone looks at every transaction that ended without its delivery. An
// excused one may have left what it could not undo.
func checkUndone(x *index, f *findings) {
	for _, id := range x.ids {
		p := x.transactions[id]
		if p.State == workflow.Completed {
			x.checkKept(p, f)
			continue
		}
		if !p.Rests() {
			continue
		}
		f.checked++
		for _, step := range x.effectful {
			x.checkStepUndone(p, step, f)
		}
	}
}

func (x *index) checkStepUndone(p *workflow.Progress, step string, f *findings) {
	s := p.Step(step)
	live, traces := x.live[place{step, p.ID}], x.traces[place{step, p.ID}]
	switch {
	case s == nil || s.State != workflow.StepUndone && s.Effect == workflow.EffectNo:
		if len(traces) > 0 || len(live) > 0 {
			f.broken(p.ID, "half done", "it is %s and knows of no effect, but there is a %s", p.State, step)
		}
	case s.State == workflow.StepUndone:
		if len(live) > 0 {
			f.broken(p.ID, "half done", "%v is live, though it counts as undone", live[0])
		}
		at := target(x.definition.UndoOf(p, step), step)
		if e := x.byID[at]; e == nil || !e.buried(p.ID) {
			f.broken(p.ID, "no tombstone", "a late call could bring %s %s back", step, at.id)
		}
	case !x.excused(p):
		f.broken(p.ID, "half done", "it is %s, and %s is %s with effect %s", p.State, step, s.State, s.Effect)
	case s.State == workflow.StepSucceeded && len(live) != 1:
		f.broken(p.ID, "half done", "no undo of %s was begun, and it has %d of it", step, len(live))
	}
}

// checkKept wants no tombstone of a transaction that was completed: it would
// refuse the transaction's own changes.
func (x *index) checkKept(p *workflow.Progress, f *findings) {
	f.checked++
	for _, step := range x.effectful {
		if e := x.byID[target(x.call(p, step), step)]; e != nil && e.buried(p.ID) {
			f.broken(p.ID, "undone", "%v has its tombstone, and it is Completed", e)
		}
	}
}

func (e *effect) buried(transactionID string) bool {
	_, buried := e.Buried(transactionID)
	return buried
}

// ownIDs are the steps whose records have the id of their transaction.
var ownIDs = []string{delivery.StepTransportation, delivery.StepDrone, delivery.StepDelivery}

// checkOwned wants a transaction behind everything that the backends hold, and
// an operation of that transaction behind each entry of a journal.
func checkOwned(x *index, f *findings) {
	for _, b := range x.beside {
		f.checked++
		if x.byID[b.of] == nil {
			f.broken(b.doc, "orphan", "its tombstone is beside %s %s, which is not there", b.of.step, b.of.id)
		}
	}
	for _, e := range x.effects {
		f.checked++
		missing := map[string]bool{}
		if slices.Contains(ownIDs, e.step) {
			missing[e.id] = x.transactions[e.id] == nil
			if e.Live() && e.TransactionID != e.id {
				f.broken(e.TransactionID, "not its own", "%v is of transaction %s", e, e.id)
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
				f.broken(p.ID, "nobody asked", "%v was %s for operation %q, which is not the transaction's", e, entry.Change, entry.OperationID)
			}
		}
		for id, orphan := range sorted(missing) {
			if orphan {
				f.broken(id, "orphan", "%v is there, its transaction is not", e)
			}
		}
	}
}
