package operate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/runner"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// deadLettered makes transaction t, which runs, Stuck: each of its wakes is
// dead-lettered.
func (w *world) deadLettered() *workflow.Progress {
	w.t.Helper()
	w.Backends.OnCall = func(runner.Request) *workflow.Outcome {
		return &workflow.Outcome{Retry: workflow.RetryLater, Status: 503, Message: "not now"}
	}
	w.Post(workflow.OperationDeliver, "t", "op-1", workflowtest.TripBody())
	w.Step()
	for range 4 {
		p := w.want(workflow.Running)
		body, err := message.Envelope{TransactionID: "t", Wake: p.Wake, AcceptedAt: w.Clock.Now()}.Encode()
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.Supervise.DeadLettered(w.t.Context(), "t", body); err != nil {
			w.t.Fatal(err)
		}
	}
	w.Backends.OnCall = nil
	return w.want(workflow.Stuck)
}

// Ensure that a healthy transaction whose messages were dead-lettered is not
// undone by an operator's retry, however late: its run goes on to its end.
func TestRetryGoesOnWithTheRun(t *testing.T) {
	w := newWorld(t)
	if stuck := w.deadLettered(); stuck.Cause != "" {
		t.Errorf("the cause is %q, and nothing is being undone", stuck.Cause)
	}
	if next := w.story().Next; !strings.Contains(next[0].What, "goes on with its run") {
		t.Errorf("next is %+v", next)
	}
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
	w.Settle()
	if op := w.want(workflow.Stuck).Operation("op-2"); op.State != workflow.OperationRefused || !strings.Contains(op.Reason, "waits for an operator") {
		t.Errorf("the cancel is %s (%s)", op.State, op.Reason)
	}
	w.Clock.Advance(2 * w.Runner.Budgets.CompleteBy)
	for _, repeated := range []bool{false, true} {
		acted, err := w.operate.Retry(t.Context(), "t", ada)
		if diff := cmp.Diff(operate.Acted{ID: "t", State: workflow.Running, Repeated: repeated}, acted); err != nil || diff != "" {
			t.Fatalf("%v, acted (-want +got):\n%s", err, diff)
		}
		w.Clock.Advance(time.Second)
	}
	undone := false
	w.Backends.OnCall = func(req runner.Request) *workflow.Outcome {
		undone = undone || req.Undo
		return nil
	}
	w.Settle()
	p := w.want(workflow.Completed)
	if w.acts(workflow.EventRetryRun) != 1 || w.acts(workflow.EventRetryUndo) != 0 || p.DeadLetters != 0 || p.Reason != "" {
		t.Errorf("history %+v, %d dead letters, reason %q", p.History, p.DeadLetters, p.Reason)
	}
	if undone {
		t.Error("something was undone")
	}
}
