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

// allowed is the whole state machine: what each event makes of each state.
// What is not here is an error.
var allowed = map[workflow.Event]map[workflow.State]workflow.State{
	workflow.EventStart:      {workflow.Accepted: workflow.Running},
	workflow.EventComplete:   {workflow.Running: workflow.Completed},
	workflow.EventChange:     {workflow.Running: workflow.Running, workflow.Completed: workflow.Running},
	workflow.EventExtend:     {workflow.Running: workflow.Running},
	workflow.EventReject:     {workflow.Accepted: workflow.Rejected, workflow.Running: workflow.Rejected},
	workflow.EventCancel:     {workflow.Accepted: workflow.Cancelled, workflow.Running: workflow.Cancelled},
	workflow.EventCompensate: {workflow.Running: workflow.Compensating},
	workflow.EventResume:     {workflow.Compensating: workflow.Running},
	workflow.EventEndUndo:    {workflow.Compensating: workflow.Compensated},
	workflow.EventStick: {
		workflow.Accepted: workflow.Stuck, workflow.Running: workflow.Stuck, workflow.Compensating: workflow.Stuck,
	},
	workflow.EventRetryUndo: {workflow.Stuck: workflow.Compensating},
	workflow.EventRetryRun:  {},
	workflow.EventGiveUp:    {workflow.Stuck: workflow.GivenUp},
}

// allowedCancelled is the same for a transaction that its client cancels.
var allowedCancelled = map[workflow.Event]map[workflow.State]workflow.State{
	workflow.EventCompensate: {workflow.Running: workflow.Compensating, workflow.Completed: workflow.Compensating},
	workflow.EventEndUndo:    {workflow.Compensating: workflow.Cancelled},
}

// allowedUndisturbed is the same for one that is not being undone.
var allowedUndisturbed = map[workflow.Event]map[workflow.State]workflow.State{
	workflow.EventRetryUndo: {},
	workflow.EventRetryRun:  {workflow.Stuck: workflow.Running},
}

func fire(p *workflow.Progress, event workflow.Event, cause workflow.Cause) error {
	now := workflowtest.Start
	switch event {
	case workflow.EventStart:
		return p.Start(now, time.Hour)
	case workflow.EventComplete:
		return p.Complete("", now, limits)
	case workflow.EventChange:
		return p.Change(now, time.Hour)
	case workflow.EventExtend:
		return p.Extend("late", now, now.Add(time.Hour))
	case workflow.EventReject:
		return p.Reject(cause, "no", now, limits)
	case workflow.EventCancel:
		return p.Cancel(now, limits)
	case workflow.EventCompensate:
		return p.Compensate(cause, "no", now)
	case workflow.EventResume:
		return p.Resume("too late", now, time.Hour)
	case workflow.EventEndUndo:
		return p.EndUndo(now, limits)
	case workflow.EventStick:
		return p.Stick("no", now, limits)
	case workflow.EventRetryUndo:
		return p.RetryUndo("ada", "the service is back", now)
	case workflow.EventRetryRun:
		return p.RetryRun("ada", "the service is back", now, time.Hour)
	case workflow.EventGiveUp:
		return p.GiveUp("ada", "done by hand", now, limits)
	}
	return errors.New("no such event")
}

func TestEveryEventInEveryState(t *testing.T) {
	for _, tc := range []struct {
		cause   workflow.Cause
		allowed map[workflow.Event]map[workflow.State]workflow.State
	}{
		{workflow.CauseFailed, allowed}, {workflow.CauseExpired, allowed}, {workflow.CauseCancelled, allowedCancelled},
		{"", allowedUndisturbed},
	} {
		for event := range allowed {
			for _, state := range workflow.States {
				table := tc.allowed
				if table[event] == nil {
					table = allowed // the cause makes no difference
				}
				to, ok := table[event][state]
				t.Run(string(tc.cause)+" "+string(event)+" in "+string(state), func(t *testing.T) {
					checkEvent(t, event, tc.cause, state, to, ok)
				})
			}
		}
	}
}

func checkEvent(t *testing.T, event workflow.Event, cause workflow.Cause, from, to workflow.State, ok bool) {
	p := workflowtest.FullProgress("t")
	p.State, p.Cause = from, cause
	before := p.Clone()
	err := fire(p, event, cause)
	if !ok {
		var illegal *workflow.TransitionError
		if !errors.As(err, &illegal) || illegal.Event != event || illegal.State != from {
			t.Errorf("error %v, want a TransitionError", err)
		}
		if diff := cmp.Diff(before, p); diff != "" {
			t.Errorf("a refused event changed the document (-before +after):\n%s", diff)
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
