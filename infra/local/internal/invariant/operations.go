package invariant

import (
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// checkOperations wants every operation that was answered 202 to be on record:
// in its transaction, outside of it, or in the quarantine, where an operation
// ends that is too old or too large to be run. Nothing else counts.
func checkOperations(x *index, f *trial.Findings) {
	for id, accepted := range trial.Sorted(x.ledger) {
		for operation, e := range trial.Sorted(accepted) {
			f.Checked++
			kind, recorded := x.recorded(id, operation)
			switch {
			case !recorded && !x.quarantined[operation]:
				f.Broken(id, "operation lost", "%s %s", e.Kind, operation)
			case recorded && kind != e.Kind:
				f.Broken(id, "operation changed", "%s was accepted as %s, and is %s", operation, e.Kind, kind)
			}
		}
	}
	for _, id := range x.ids {
		p := x.transactions[id]
		seen := map[string]bool{}
		for _, o := range p.Operations {
			f.Checked++
			if seen[o.ID] {
				f.Broken(id, "operation doubled", "%s %s", o.Kind, o.ID)
			}
			seen[o.ID] = true
			x.checkOperation(p, o, f)
		}
		checkOutcome(p, f)
	}
	for i := range x.Outside {
		f.Checked++
		x.checkOutside(&x.Outside[i], f)
	}
}

// recorded returns the kind of an operation of a transaction as it is on record,
// in the transaction or outside. It is false if it is in neither.
func (x *index) recorded(id, operation string) (workflow.OperationKind, bool) {
	if p := x.transactions[id]; p != nil {
		if o := p.Operation(operation); o != nil {
			return o.Kind, true
		}
	}
	if o := x.outside[operation]; o != nil && o.TransactionID == id {
		return o.Operation, true
	}
	return "", false
}

// checkOperation wants an operation to have ended, with a reason if it was not
// carried out. Those of an excused transaction may wait with it.
func (x *index) checkOperation(p *workflow.Progress, o workflow.OperationRecord, f *trial.Findings) {
	if o.State == workflow.OperationPending {
		if !x.excused(p) {
			f.Broken(p.ID, "operation open", "%s %s", o.Kind, o.ID)
		}
		return
	}
	ended(f, p.ID, o)
}

// ended wants an operation that does not wait any more to have come to an end
// that can be told.
func ended(f *trial.Findings, id string, o workflow.OperationRecord) {
	switch o.State {
	case workflow.OperationApplied:
	case workflow.OperationRefused, workflow.OperationSuperseded:
		if o.Reason == "" {
			f.Broken(id, "no reason", "%s %s is %s", o.Kind, o.ID, o.State)
		}
	default:
		f.Broken(id, "operation open", "%s %s is %q", o.Kind, o.ID, o.State)
	}
	if o.EndedAt.IsZero() {
		f.Broken(id, "operation open", "%s %s is %s since never", o.Kind, o.ID, o.State)
	}
}

// checkOutside wants an operation that its transaction does not hold to have
// ended, where its client looks for it, and no other end to be told elsewhere.
func (x *index) checkOutside(o *workflow.OutsideOperation, f *trial.Findings) {
	ended(f, o.TransactionID, workflow.OperationRecord{ID: o.OperationID, Kind: o.Operation, State: o.State, Reason: o.Reason, EndedAt: o.EndedAt})
	if o.ID != workflow.OutsideID(o.OperationID) {
		f.Broken(o.TransactionID, "operation misplaced", "%s %s is outside as %s, where nobody looks for it", o.Operation, o.OperationID, o.ID)
	}
	p := x.transactions[o.TransactionID]
	if p == nil {
		return // of the clients' a violation of another invariant
	}
	if in := p.Operation(o.OperationID); in != nil && in.State != o.State {
		f.Broken(p.ID, "two ends", "%s %s is %s in its transaction, and %s outside", o.Operation, o.OperationID, in.State, o.State)
	}
}

// checkOutcome wants the operations to tell the same as the state.
func checkOutcome(p *workflow.Progress, f *trial.Findings) {
	applied := map[workflow.OperationKind]int{}
	for _, o := range p.Operations {
		if o.State == workflow.OperationApplied {
			applied[o.Kind]++
		}
	}
	started, cancelled := applied[workflow.OperationStart], applied[workflow.OperationCancel]
	switch {
	case started > 1:
		f.Broken(p.ID, "started twice", "%d starts are Applied", started)
	case p.State == workflow.Completed && started == 0:
		f.Broken(p.ID, "outcome", "it is Completed, but its start is not Applied")
	case p.State == workflow.Rejected && started > 0:
		f.Broken(p.ID, "outcome", "it is Rejected, but its start is Applied")
	case (p.State == workflow.Cancelled) != (cancelled > 0):
		f.Broken(p.ID, "outcome", "it is %s with %d applied cancels", p.State, cancelled)
	}
}
