package workflow_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var (
	limits  = workflow.Limits{CompleteBy: 24 * time.Hour, DocumentTTL: ttl, UndoAttempts: 3}
	backoff = workflow.Backoff{Min: 5 * time.Second, Max: 5 * time.Minute}
)

// run is a transaction that a test takes through its stages by hand.
type run struct {
	*testing.T
	d   *workflow.Definition
	p   *workflow.Progress
	now time.Time
	// outside is what was to be on record outside so far.
	outside []workflow.OutsideOperation
}

// newRun returns a trip of which nothing is known yet.
func newRun(t *testing.T) *run {
	d := workflowtest.Trip()
	return &run{T: t, d: d, p: d.New("t", workflowtest.Start, limits), now: workflowtest.Start}
}

// delivered returns a trip whose first stage is in flight.
func delivered(t *testing.T) *run {
	r := newRun(t)
	r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody())
	return r.advance()
}

// completed returns a trip that is Completed.
func completed(t *testing.T) *run {
	r := delivered(t)
	r.finish(ok, ok)
	r.finish(ok)
	r.want(workflow.Completed)
	return r
}

func (r *run) turn() workflow.Turn {
	return workflow.Turn{Now: r.now, Due: r.now, Start: true, Limits: limits}
}

func (r *run) receive(kind workflow.OperationKind, id string, body json.RawMessage) bool {
	return r.by("", kind, id, body)
}

func (r *run) advance() *run {
	r.Helper()
	if err := r.d.Advance(r.p, r.turn()); err != nil {
		r.Fatal(err)
	}
	return r
}

func (r *run) unwind() *run {
	r.Helper()
	if err := r.d.Unwind(r.p, r.turn()); err != nil {
		r.Fatal(err)
	}
	return r
}

var (
	ok    = workflow.Outcome{Effect: workflow.EffectYes, Status: 200, Result: json.RawMessage(`{}`)}
	never = workflow.Outcome{Retry: workflow.RetryNever, Status: 404, Message: "no such thing"}
	later = workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 503, Message: "down"}
	busy  = workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectNo, Message: "not sent"}
)

func (r *run) results(outcomes []workflow.Outcome) []workflow.Finished {
	r.Helper()
	names := r.d.InFlight(r.p)
	if len(names) != len(outcomes) {
		r.Fatalf("%v in flight, %d outcomes", names, len(outcomes))
	}
	var results []workflow.Finished
	for i, name := range names {
		f := workflow.Finished{Step: name}
		f.Add(outcomes[i])
		results = append(results, f)
	}
	return results
}

// finish gives the steps in flight their outcomes, in their order, and
// advances.
func (r *run) finish(outcomes ...workflow.Outcome) *run {
	r.Helper()
	r.d.Record(r.p, r.results(outcomes), backoff, r.now)
	return r.advance()
}

// undone does the same for undo calls.
func (r *run) undone(outcomes ...workflow.Outcome) *run {
	r.Helper()
	if err := r.d.RecordUndo(r.p, r.results(outcomes), backoff, limits, r.now); err != nil {
		r.Fatal(err)
	}
	return r.unwind()
}

// want checks the state and what is in flight.
func (r *run) want(state workflow.State, inFlight ...string) *run {
	r.Helper()
	if r.p.State != state {
		r.Errorf("state %s (%s), want %s", r.p.State, r.p.Reason, state)
	}
	if got := r.d.InFlight(r.p); !slices.Equal(got, inFlight) {
		r.Errorf("%v in flight, want %v", got, inFlight)
	}
	return r
}

func (r *run) wantCause(cause workflow.Cause) *run {
	r.Helper()
	if r.p.Cause != cause || cause != "" && r.p.Reason == "" && cause != workflow.CauseCancelled {
		r.Errorf("cause %q (%s), want %q with a reason", r.p.Cause, r.p.Reason, cause)
	}
	return r
}

// wantOperation checks the end of an operation; one that is Refused or
// Superseded must say why.
func (r *run) wantOperation(id string, state workflow.OperationState) *run {
	r.Helper()
	op := r.p.Operation(id)
	if op == nil {
		r.Fatalf("no operation %s", id)
	}
	if op.State != state {
		r.Errorf("operation %s is %s (%s), want %s", id, op.State, op.Reason, state)
	}
	if (op.Reason == "") != (state == workflow.OperationApplied || state == workflow.OperationPending) {
		r.Errorf("operation %s is %s with reason %q", id, state, op.Reason)
	}
	if op.EndedAt.IsZero() != (state == workflow.OperationPending) {
		r.Errorf("operation %s is %s with end %s", id, state, op.EndedAt)
	}
	return r
}

func (r *run) wantStep(name string, state workflow.StepState, effect workflow.Effect, revision int) *run {
	r.Helper()
	s := r.p.Step(name)
	type short struct {
		State    workflow.StepState
		Effect   workflow.Effect
		Revision int
	}
	if diff := cmp.Diff(short{state, effect, revision}, short{s.State, s.Effect, s.Revision}); diff != "" {
		r.Errorf("step %s (-want +got):\n%s", name, diff)
	}
	return r
}

var errNoMerge = errors.New("this can't be changed")

// wantState checks the state alone.
func (r *run) wantState(state workflow.State) *run {
	r.Helper()
	if r.p.State != state {
		r.Errorf("state %s (%s), want %s", r.p.State, r.p.Reason, state)
	}
	return r
}
