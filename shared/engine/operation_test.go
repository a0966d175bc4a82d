package engine_test

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure an operation whose message was dead-lettered before anything was stored of
// it, in an outage of the storage say, is on record and carried out: its client has
// a 202 for it.
func TestOperationOfADeadLetter(t *testing.T) {
	w := newWorld(t)
	body, err := w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.DeadLettered(t.Context(), "t", body); err != nil {
		t.Fatal(err)
	}
	p := wantStateOf(t, w, "t", workflow.Running)
	if op := p.Operation("op-1"); op == nil || op.State != workflow.OperationPending || p.DeadLetters != 0 {
		t.Errorf("the operation is %+v, with %d dead letters", op, p.DeadLetters)
	}
	w.Settle()
	wantStateOf(t, w, "t", workflow.Completed)
}
