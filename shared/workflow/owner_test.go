package workflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// by receives an operation of a caller's.
func (r *run) by(caller string, kind workflow.OperationKind, id string, body json.RawMessage) bool {
	fresh, outside := r.p.Receive(workflow.Operation{ID: id, Kind: kind, Body: body, AcceptedAt: r.now, Caller: caller})
	r.outside = append(r.outside, outside...)
	return fresh
}

// ofAda returns a trip of Ada's whose first stage is in flight.
func ofAda(t *testing.T) *run {
	r := newRun(t)
	r.by("ada", workflow.OperationStart, "op-1", workflowtest.TripBody())
	return r.advance()
}

// wantOutside checks that an operation is not in the document, and is to be on
// record outside, once, as Refused for that reason.
func (r *run) wantOutside(id, reason string) {
	r.Helper()
	if op := r.p.Operation(id); op != nil {
		r.Errorf("operation %s is on record: %+v", id, op)
	}
	var found []workflow.OutsideOperation
	for _, o := range r.outside {
		if o.OperationID == id {
			found = append(found, o)
		}
	}
	if len(found) != 1 || found[0].State != workflow.OperationRefused || found[0].Reason != reason {
		r.Errorf("operation %s is outside as %+v, want one that is Refused: %s", id, found, reason)
	}
}

func TestOwns(t *testing.T) {
	for _, c := range []struct {
		owner, caller string
		want          bool
	}{
		{"ada", "ada", true}, {"ada", "bob", false}, {"ada", "", false}, {"", "ada", true}, {"", "", true},
	} {
		if got := workflow.Owns(c.owner, c.caller); got != c.want {
			t.Errorf("owner %q, caller %q: %v", c.owner, c.caller, got)
		}
	}
}

// Ensure that nobody but the owner changes a transaction, wherever it stands.
func TestForeignOperationIsNotReceived(t *testing.T) {
	for _, kind := range []workflow.OperationKind{workflow.OperationCancel, workflow.OperationReschedule, workflow.OperationStart} {
		for _, caller := range []string{"bob", ""} {
			r := ofAda(t)
			op := workflow.Operation{ID: "op-9", Kind: kind, Body: nights("4"), AcceptedAt: r.now, Caller: caller}
			if !r.p.Foreign(op) || r.by(caller, kind, op.ID, op.Body) {
				t.Errorf("%s of %q is received", kind, caller)
			}
			r.advance().want(workflow.Running, "hotel", "flight")
			r.wantOutside("op-9", workflow.NotYours)
			want := workflow.OutsideOperation{
				ID: "operation:op-9", TransactionID: "t", OperationID: "op-9", Operation: kind, Hash: workflow.Hash(kind, "t", op.Body),
				Caller: caller, AcceptedAt: workflow.At(r.now), State: workflow.OperationRefused, Reason: "you have no such transaction",
			}
			if diff := cmp.Diff([]workflow.OutsideOperation{want}, r.outside); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
			if op.Caller = "ada"; r.p.Foreign(op) || !r.by("ada", kind, op.ID, op.Body) {
				t.Errorf("%s of the owner is not received", kind)
			}
		}
	}
}

// Ensure that a cancel before the delivery waits until it shows whose it is: the
// owner's takes effect, another's does not and is Refused outside, in whatever
// order they come.
func TestCancelBeforeItsDeliveryWaitsForTheOwner(t *testing.T) {
	r := newRun(t)
	r.by("bob", workflow.OperationCancel, "op-2", nil)
	r.by("ada", workflow.OperationReschedule, "op-3", nights("4"))
	r.advance().want(workflow.Accepted).wantOperation("op-2", workflow.OperationPending)
	if got := r.d.NextAt(r.p, r.now); !got.Equal(r.p.CompleteBy.Time) {
		t.Errorf("it is looked at again at %v, want %v", got, r.p.CompleteBy)
	}
	r.by("ada", workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.wantOutside("op-2", workflow.NotYours)
	r.advance().want(workflow.Running, "hotel", "flight")
	if r.p.Caller != "ada" || r.p.Operation("op-3").Caller != "" {
		t.Errorf("the owner is %q, and a caller is kept: %+v", r.p.Caller, r.p.Operations)
	}

	r = newRun(t)
	r.by("ada", workflow.OperationCancel, "op-2", nil)
	r.advance().want(workflow.Accepted)
	r.by("ada", workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.advance().want(workflow.Cancelled).wantOperation("op-2", workflow.OperationApplied).wantOperation("op-1", workflow.OperationSuperseded)
}

// Ensure that a delivery that never comes ends what waits for it, and that one
// that comes too late is not begun.
func TestDeliveryNeverComes(t *testing.T) {
	r := newRun(t)
	r.by("ada", workflow.OperationCancel, "op-2", nil)
	r.by("bob", workflow.OperationCancel, "op-3", nil)
	r.advance().want(workflow.Accepted)
	r.now = r.now.Add(25 * time.Hour)
	r.advance().want(workflow.Rejected).wantOperation("op-2", workflow.OperationRefused).wantOperation("op-3", workflow.OperationRefused)
	r.by("ada", workflow.OperationStart, "op-1", workflowtest.TripBody())
	r.advance().want(workflow.Rejected).wantOperation("op-1", workflow.OperationRefused)
	r.wantOutside("op-3", "the transaction is Rejected") // as it ended before
	if o := r.outside[0]; o.EndedAt != workflow.At(r.now) || o.Caller != "bob" {
		t.Errorf("outside: %+v", o)
	}
	if owner, known := r.p.Owner(); owner != "ada" || !known {
		t.Errorf("the owner is %q", owner)
	}
}

// Ensure that the second delivery of an id does not take it over.
func TestSecondDeliveryOfAnother(t *testing.T) {
	r := ofAda(t)
	r.by("bob", workflow.OperationStart, "op-0", workflowtest.TripBody())
	r.wantOutside("op-0", workflow.NotYours)
	if r.p.Caller != "ada" {
		t.Errorf("the owner is %q", r.p.Caller)
	}
}

func TestSeenBy(t *testing.T) {
	waiting := newRun(t)
	waiting.by("ada", workflow.OperationCancel, "op-2", nil)
	unowned := newRun(t)
	unowned.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
	tombstone := newRun(t)
	tombstone.receive(workflow.OperationCancel, "op-2", nil)
	for name, c := range map[string]struct {
		p      *workflow.Progress
		caller string
		want   bool
	}{
		"its owner":                           {ofAda(t).p, "ada", true},
		"another":                             {ofAda(t).p, "bob", false},
		"somebody unknown":                    {ofAda(t).p, "", false},
		"who asked before the delivery":       {waiting.p, "ada", true},
		"who did not":                         {waiting.p, "bob", false},
		"anybody, of what is nobody's":        {unowned.p, "bob", true},
		"anybody, of a tombstone of nobody's": {tombstone.p, "bob", true},
	} {
		if got := c.p.SeenBy(c.caller); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
