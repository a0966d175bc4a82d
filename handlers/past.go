package main

import (
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// pastOperations returns the rule by which Ingest refuses an operation at once:
// the transaction, as it is stored, would refuse it anyway. It asks the
// workflow itself, with a cancel that is not kept; what Schedule decides later
// can't differ then. A transaction that is still under way is never past an
// operation here, since what it is waiting for may change that. Whether there is
// room for the operation is not asked here.
func pastOperations(d workflow.Definition) func(*workflow.Progress, workflow.OperationKind, time.Time) (string, bool) {
	return func(p *workflow.Progress, _ workflow.OperationKind, now time.Time) (string, bool) {
		if p.State == workflow.Accepted || p.State == workflow.Running {
			return "", false
		}
		const id = "probe"
		probe := p.Clone()
		probe.Operations = slices.DeleteFunc(probe.Operations, func(o workflow.OperationRecord) bool { return o.Kind != workflow.OperationStart })
		probe.Receive(workflow.Operation{ID: id, Kind: workflow.OperationCancel, AcceptedAt: now, Caller: p.Caller})
		if err := d.Advance(probe, workflow.Turn{Now: now, Due: now}); err != nil {
			return "", false // Schedule will tell what is wrong
		}
		operation := probe.Operation(id)
		return operation.Reason, operation.State == workflow.OperationRefused
	}
}
