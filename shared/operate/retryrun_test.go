package operate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// deadLettered makes transaction t, which runs, Stuck: each of its wakes is
// dead-lettered.
func (w *world) deadLettered() *workflow.Progress {
	w.t.Helper()
	w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome {
		return &workflow.Outcome{Retry: workflow.RetryLater, Status: 503, Message: "not now"}
	}
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Step()
	for range 4 {
		p := w.want(workflow.Running)
		body, err := engine.Envelope{TransactionID: "t", Wake: p.Wake, AcceptedAt: w.Clock.Now()}.Encode()
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.Engine.DeadLettered(w.t.Context(), "t", body); err != nil {
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
	if next := w.story().Next; !strings.Contains(next[0].What, "continues its run") {
		t.Errorf("next is %+v", next)
	}
	w.Clock.Advance(2 * w.Engine.Budgets.CompleteBy)
	for _, repeated := range []bool{false, true} {
		acted, err := w.operate.Retry(t.Context(), "t", ada)
		if diff := cmp.Diff(operate.Acted{ID: "t", State: workflow.Running, Repeated: repeated}, acted); err != nil || diff != "" {
			t.Fatalf("%v, acted (-want +got):\n%s", err, diff)
		}
		w.Clock.Advance(time.Second)
	}
	var undone atomic.Bool // the steps of a stage are called side by side
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Undo {
			undone.Store(true)
		}
		return nil
	}
	w.Settle()
	p := w.want(workflow.Completed)
	if w.acts(workflow.TransitionRetryRun) != 1 || w.acts(workflow.TransitionRetryUndo) != 0 || p.DeadLetters != 0 || p.Reason != "" {
		t.Errorf("history %+v, %d dead letters, reason %q", p.History, p.DeadLetters, p.Reason)
	}
	if undone.Load() {
		t.Error("something was undone")
	}
}

// Ensure that what a client asks of a healthy transaction that is Stuck waits for
// the operator, and is done with the retry, or refused when it is given up; and
// that the operator is told what a retry will do.
func TestWhatIsAskedOfAStuckRunWaits(t *testing.T) {
	stuck := func(t *testing.T, kind workflow.OperationKind, body json.RawMessage) *world {
		w := newWorld(t)
		w.deadLettered()
		w.Post(kind, "t", "op-2", body)
		w.Settle()
		p := w.want(workflow.Stuck)
		for _, id := range []string{"op-1", "op-2"} {
			if op := p.Operation(id); op.State != workflow.OperationPending {
				t.Errorf("%s is %s (%s)", id, op.State, op.Reason)
			}
		}
		return w
	}
	retried := func(t *testing.T, w *world) *workflow.Progress {
		if _, err := w.operate.Retry(t.Context(), "t", ada); err != nil {
			t.Fatal(err)
		}
		w.Settle()
		return w.Store.Get("t")
	}
	states := func(p *workflow.Progress) string {
		return fmt.Sprint(p.State, " ", p.Operation("op-1").State, " ", p.Operation("op-2").State)
	}

	w := stuck(t, workflow.OperationCancel, nil)
	if next := w.story().Next; !strings.Contains(next[0].What, "cancelled") {
		t.Errorf("next is %+v", next)
	}
	if got := states(retried(t, w)); got != "Cancelled Superseded Applied" || len(w.Backends.Live()) > 0 {
		t.Errorf("a cancel: %s, there is %v", got, w.Backends.Live())
	}

	w = stuck(t, workflow.OperationReschedule, json.RawMessage(`{"nights":5}`))
	if p := retried(t, w); states(p) != "Completed Applied Applied" || p.Revision != 2 {
		t.Errorf("a reschedule: %s, revision %d", states(p), p.Revision)
	}

	w = stuck(t, workflow.OperationCancel, nil)
	if _, err := w.operate.GiveUp(t.Context(), "t", ada); err != nil {
		t.Fatal(err)
	}
	if got := states(w.Store.Get("t")); got != "GivenUp Refused Refused" {
		t.Errorf("given up: %s", got)
	}
}

// Ensure that a delivery whose cancel came first, and was dead-lettered until it was
// Stuck, is not lost.
func TestADeliveryThatComesWhileStuck(t *testing.T) {
	w := newWorld(t)
	p := w.Engine.Definition.New("t", w.Clock.Now(), w.Engine.Budgets.Limits())
	p.Receive(workflow.Operation{ID: "op-0", Kind: workflow.OperationReschedule, Body: []byte(`{"nights":5}`), AcceptedAt: w.Clock.Now()})
	if err := p.Stick("4 messages were dead-lettered", w.Clock.Now(), w.Engine.Budgets.Limits()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.want(workflow.Stuck)
	if _, err := w.operate.Retry(t.Context(), "t", ada); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if p := w.want(workflow.Completed); p.Operation("op-1").State != workflow.OperationApplied {
		t.Errorf("operations %+v", p.Operations)
	}
}
