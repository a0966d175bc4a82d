package invariant

import (
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// checkRoom wants a reason for each operation that is Refused outside of its
// transaction: it is another's, or the transaction had no room for it. Room that
// is used up stays so, but for what strangers' operations took before it was
// known whose the transaction is: those lie outside as well, and count as having
// been in.
func checkRoom(x *index, f *trial.Findings) {
	strangers := map[string]map[workflow.OperationKind]int{} // by transaction
	for i := range x.Outside {
		o := &x.Outside[i]
		if p := x.transactions[o.TransactionID]; p != nil && foreign(p, o) {
			if strangers[p.ID] == nil {
				strangers[p.ID] = map[workflow.OperationKind]int{}
			}
			strangers[p.ID][o.Operation]++
		}
	}
	for i := range x.Outside {
		o := &x.Outside[i]
		p := x.transactions[o.TransactionID]
		if p == nil || o.State != workflow.OperationRefused {
			continue // a violation of another invariant, or an end that it had inside
		}
		f.Checked++
		switch {
		case foreign(p, o):
		case o.Reason == workflow.NotYours:
			f.Broken(p.ID, "refused for nothing", "%s %s is its owner's, and was refused as another's", o.Operation, o.OperationID)
		case x.hadRoom(p, o, strangers[p.ID]):
			f.Broken(p.ID, "refused for nothing", "%s %s was refused outside for %q, and there is room for it", o.Operation, o.OperationID, o.Reason)
		}
	}
}

// foreign reports whether an operation was asked for by another than the owner.
func foreign(p *workflow.Progress, o *workflow.OutsideOperation) bool {
	return p.Foreign(workflow.Operation{Caller: o.Caller})
}

// hadRoom reports whether there has been room for an operation at any time, for
// all that is known in the end. How many bytes the changes of strangers had is
// not.
func (x *index) hadRoom(p *workflow.Progress, o *workflow.OutsideOperation, strangers map[workflow.OperationKind]int) bool {
	had, bytes := strangers[o.Operation], 0
	for _, in := range p.Operations {
		if in.Kind == o.Operation {
			had++
		}
		bytes += in.Bytes
	}
	if had >= workflow.MaxOperations {
		return false
	}
	if o.Operation != workflow.OperationReschedule {
		return true
	}
	e := x.ledger[p.ID][o.OperationID]
	if e == nil || e.Body == nil || strangers[workflow.OperationReschedule] > 0 {
		return false // nobody knows how large it was, or they were
	}
	change, err := x.canonical(o.Operation, e.Body)
	return err == nil && bytes+len(change) <= workflow.MaxChangeBytes
}
