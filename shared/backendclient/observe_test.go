package backendclient

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestVerdicts(t *testing.T) {
	for want, o := range map[string]workflow.Outcome{
		"succeeded":   {Retry: workflow.RetryNone, Effect: workflow.EffectYes},
		"rejected":    {Retry: workflow.RetryNever, Effect: workflow.EffectNo},
		"unavailable": {Retry: workflow.RetryLater, Effect: workflow.EffectNo},
		"unknown":     {Retry: workflow.RetryLater, Effect: workflow.EffectMaybe},
		"forbidden":   {Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: 401},
	} {
		if got := verdictOf(engine.Attempt{}, o); got != want {
			t.Errorf("%+v is %s, want %s", o, got, want)
		}
		if want == "succeeded" {
			want = "undone"
		} else {
			want = "undo_" + want
		}
		if got := verdictOf(engine.Attempt{Undo: true}, o); got != want {
			t.Errorf("the undo %+v is %s, want %s", o, got, want)
		}
	}
	stopped := workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 403}
	flown := workflow.Outcome{Retry: workflow.RetryNever, Status: 409, Type: workflow.TypeCannotUndo}
	if a, b := verdictOf(engine.Attempt{Undo: true}, stopped), verdictOf(engine.Attempt{Undo: true}, flown); a != "undo_forbidden" || b != "undo_too_late" {
		t.Errorf("the undo of a stopped app is %s, that of what has happened %s", a, b)
	}
}

// TestTimeOfATransaction measures from what was asked for last, and taken up.
