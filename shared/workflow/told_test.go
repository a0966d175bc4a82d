package workflow_test

import (
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that the reason of a transaction, which its client and the receivers of
// news read, has nothing in it of how a service is reached. Operators find it
// with the step.
func TestReasonTellsNothingOfTheInside(t *testing.T) {
	broken := workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Type: "broken", Message: "read tcp 10.0.0.4:443: EOF"}
	r := delivered(t).finish(ok, never).want(workflow.Compensating)
	r.unwind()
	for r.p.State == workflow.Compensating {
		r.undone(broken)
		r.now = r.now.Add(backoff.Max)
		r.unwind()
	}
	r.want(workflow.Stuck)
	if strings.Contains(r.p.Reason, "10.0.0.4") || !strings.Contains(r.p.Reason, "hotel") {
		t.Errorf("reason %q", r.p.Reason)
	}
	if got := r.p.Step("hotel").UndoError.Message; got != broken.Message {
		t.Errorf("an operator reads %q", got)
	}
}
