package workflow

import (
	"slices"
	"time"
)

// Past reports whether a transaction, as it is stored, would refuse an operation
// anyway, and why; so it can be refused at once. The rule is Advance itself, with
// a cancel that is not kept: what is decided later can't differ then. A
// transaction that is still under way is never past an operation, since what it is
// waiting for may change that. Whether there is room for the operation is not
// asked here.
func (d *Definition) Past(p *Progress, _ OperationKind, now time.Time) (reason string, past bool) {
	if p.State == Accepted || p.State == Running {
		return "", false
	}
	const id = "probe"
	probe := p.Clone()
	probe.Operations = slices.DeleteFunc(probe.Operations, func(o OperationRecord) bool { return o.Kind != OperationStart })
	probe.Receive(Operation{ID: id, Kind: OperationCancel, AcceptedAt: now, Caller: p.Caller})
	if err := d.Advance(probe, Turn{Now: now, Due: now}); err != nil {
		return "", false // the engine will tell what is wrong
	}
	operation := probe.Operation(id)
	return operation.Reason, operation.State == OperationRefused
}
