package workflow_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

const ttl = 30 * 24 * time.Hour

// allowed is the whole state machine: what each transition makes of each state.
// What is not here is an error.
var allowed = map[workflow.Transition]map[workflow.State]workflow.State{
	workflow.TransitionStart:      {workflow.Accepted: workflow.Running},
	workflow.TransitionComplete:   {workflow.Running: workflow.Completed},
	workflow.TransitionChange:     {workflow.Running: workflow.Running, workflow.Completed: workflow.Running},
	workflow.TransitionExtend:     {workflow.Running: workflow.Running},
	workflow.TransitionReject:     {workflow.Accepted: workflow.Rejected, workflow.Running: workflow.Rejected},
	workflow.TransitionCancel:     {workflow.Accepted: workflow.Cancelled, workflow.Running: workflow.Cancelled},
	workflow.TransitionCompensate: {workflow.Running: workflow.Compensating},
	workflow.TransitionResume:     {workflow.Compensating: workflow.Running},
	workflow.TransitionEndUndo:    {workflow.Compensating: workflow.Compensated},
	workflow.TransitionStick: {
		workflow.Accepted: workflow.Stuck, workflow.Running: workflow.Stuck, workflow.Compensating: workflow.Stuck,
	},
	workflow.TransitionRetryUndo: {workflow.Stuck: workflow.Compensating},
	workflow.TransitionRetryRun:  {},
	workflow.TransitionGiveUp:    {workflow.Stuck: workflow.GivenUp},
	workflow.TransitionHasten: {
		workflow.Accepted: workflow.Accepted, workflow.Running: workflow.Running, workflow.Compensating: workflow.Compensating,
	},
}

// allowedCancelled is the same for a transaction that its client cancels.
var allowedCancelled = map[workflow.Transition]map[workflow.State]workflow.State{
	workflow.TransitionCompensate: {workflow.Running: workflow.Compensating, workflow.Completed: workflow.Compensating},
	workflow.TransitionEndUndo:    {workflow.Compensating: workflow.Cancelled},
}

// allowedUndisturbed is the same for one that is not being undone.
var allowedUndisturbed = map[workflow.Transition]map[workflow.State]workflow.State{
	workflow.TransitionRetryUndo: {},
	workflow.TransitionRetryRun:  {workflow.Stuck: workflow.Running},
}

func fire(p *workflow.Progress, transition workflow.Transition, cause workflow.Cause) error {
	now := workflowtest.Start
	switch transition {
	case workflow.TransitionStart:
		return p.Start(now, time.Hour)
	case workflow.TransitionComplete:
		return p.Complete("", now, limits)
	case workflow.TransitionChange:
		return p.Change(now, time.Hour)
	case workflow.TransitionExtend:
		return p.Extend("late", now, now.Add(time.Hour))
	case workflow.TransitionReject:
		return p.Reject(cause, "no", now, limits)
	case workflow.TransitionCancel:
		return p.Cancel(now, limits)
	case workflow.TransitionCompensate:
		return p.Compensate(cause, "no", now)
	case workflow.TransitionResume:
		return p.Resume("too late", now, time.Hour)
	case workflow.TransitionEndUndo:
		return p.EndUndo(now, limits)
	case workflow.TransitionStick:
		return p.Stick("no", now, limits)
	case workflow.TransitionRetryUndo:
		return p.RetryUndo("ada", "the service is back", now)
	case workflow.TransitionRetryRun:
		return p.RetryRun("ada", "the service is back", now, time.Hour)
	case workflow.TransitionGiveUp:
		return p.GiveUp("ada", "done by hand", now, limits)
	case workflow.TransitionHasten:
		return p.Hasten("ada", "the service is back", now)
	}
	return errors.New("no such transition")
}

func TestEveryEventInEveryState(t *testing.T) {
	for _, tc := range []struct {
		cause   workflow.Cause
		allowed map[workflow.Transition]map[workflow.State]workflow.State
	}{
		{workflow.CauseFailed, allowed}, {workflow.CauseExpired, allowed}, {workflow.CauseCancelled, allowedCancelled},
		{"", allowedUndisturbed},
	} {
		for transition := range allowed {
			for _, state := range workflow.States {
				table := tc.allowed
				if table[transition] == nil {
					table = allowed // the cause makes no difference
				}
				to, ok := table[transition][state]
				t.Run(string(tc.cause)+" "+string(transition)+" in "+string(state), func(t *testing.T) {
					checkTransition(t, transition, tc.cause, state, to, ok)
				})
			}
		}
	}
}

func checkTransition(t *testing.T, transition workflow.Transition, cause workflow.Cause, from, to workflow.State, ok bool) {
	p := workflowtest.FullProgress("t")
	p.State, p.Cause = from, cause
	before := p.Clone()
	err := fire(p, transition, cause)
	if !ok {
		var illegal *workflow.TransitionError
		if !errors.As(err, &illegal) || illegal.Transition != transition || illegal.State != from {
			t.Errorf("error %v, want a TransitionError", err)
		}
		if diff := cmp.Diff(before, p); diff != "" {
			t.Errorf("a refused transition changed the document (-before +after):\n%s", diff)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.State != to {
		t.Errorf("state %s, want %s", p.State, to)
	}
	if to.Final() && (p.TTL == 0 || p.EndedAt.IsZero() || !p.WakeAt.IsZero() || p.WakeQueue != "" || p.Lease.Runner != "") {
		t.Errorf("a final state with TTL %d, end %s, wake %s, lease %v", p.TTL, p.EndedAt, p.WakeAt, p.Lease)
	}
	if to == workflow.Stuck && (!p.WakeAt.IsZero() || p.Lease.Runner != "" || p.Cause != cause) {
		t.Errorf("Stuck with wake %s, lease %v, cause %q, want %q kept", p.WakeAt, p.Lease, p.Cause, cause)
	}
	if p.Lease.Epoch != before.Lease.Epoch {
		t.Errorf("epoch %d, want %d kept", p.Lease.Epoch, before.Lease.Epoch)
	}
	if (from == workflow.Completed && !to.Final()) && (p.TTL != 0 || !p.EndedAt.IsZero()) {
		t.Errorf("reopened with TTL %d and end %s", p.TTL, p.EndedAt)
	}
}

// Ensure that an operator's retry of what was not being undone goes on with the
// run, with time of its own and everything to be tried at once.
func TestRetryRun(t *testing.T) {
	later := workflowtest.Start.Add(24 * time.Hour)
	for name, started := range map[workflow.State]bool{workflow.Accepted: false, workflow.Running: true} {
		p := workflowtest.FullProgress("t")
		p.State, p.Cause, p.Reason, p.CompleteBy = name, "", "", workflow.At(workflowtest.Start)
		if !started {
			p.StartedAt = workflow.Instant{}
		}
		p.Steps[0].NotBefore = workflow.At(later.Add(time.Hour))
		if err := p.Stick("dead letters", workflowtest.Start, limits); err != nil {
			t.Fatal(err)
		}
		if err := p.RetryRun("ada", "mended", later, time.Hour); err != nil {
			t.Fatal(err)
		}
		if p.State != name || p.Cause != "" || p.Reason != "" || !p.CompleteBy.Equal(later.Add(time.Hour)) ||
			p.Laters != 0 || p.DeadLetters != 0 || !p.Steps[0].NotBefore.IsZero() {
			t.Errorf("%s, cause %q (%s), by %s, %d laters, %d dead letters, first step at %s",
				p.State, p.Cause, p.Reason, p.CompleteBy, p.Laters, p.DeadLetters, p.Steps[0].NotBefore)
		}
	}
}

// Ensure that what an operator hastens is due at once, that what was due stays as it
// was, and that an undoing lasts since it began.
func TestHasten(t *testing.T) {
	now := workflowtest.Start.Add(time.Hour)
	p := workflowtest.FullProgress("t")
	p.State, p.Laters, p.History = workflow.Running, 3, nil
	if err := p.Compensate(workflow.CauseFailed, "no", workflowtest.Start); err != nil {
		t.Fatal(err)
	}
	past := workflow.At(workflowtest.Start)
	for i, at := range []workflow.Instant{workflow.At(now.Add(time.Minute)), past, {}} {
		p.Steps[i].NotBefore = at
	}
	p.Laters = 3
	if err := p.Hasten("ada", "mended", now); err != nil {
		t.Fatal(err)
	}
	got := []workflow.Instant{p.Steps[0].NotBefore, p.Steps[1].NotBefore, p.Steps[2].NotBefore}
	if diff := cmp.Diff([]workflow.Instant{workflow.At(now), past, {}}, got); diff != "" || p.Laters != 3 {
		t.Errorf("%d laters, steps are due (-want +got):\n%s", p.Laters, diff)
	}
	if since := p.UndoingSince(); !since.Equal(workflowtest.Start) {
		t.Errorf("undoing since %s, want %s", since, workflowtest.Start)
	}
}

func TestGiveUpEndsOperations(t *testing.T) {
	p := workflowtest.FullProgress("t")
	p.State = workflow.Stuck
	if err := p.GiveUp("ada", "refunded by hand", workflowtest.Start, limits); err != nil {
		t.Fatal(err)
	}
	if op := p.Operation("op-3"); op.State != workflow.OperationRefused || op.Reason == "" {
		t.Errorf("the pending cancel is %s (%q), want Refused with a reason", op.State, op.Reason)
	}
	if p.Reason != "refunded by hand" {
		t.Errorf("reason %q, want the note", p.Reason)
	}
}
