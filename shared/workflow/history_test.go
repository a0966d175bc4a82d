package workflow_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// lastOf returns the newest entry of the history.
func lastOf(p *workflow.Progress) workflow.StateChange { return p.History[len(p.History)-1] }

// Ensure that every transition that is allowed notes itself, once, with the state
// that it led to, and that only an operator's has a name.
func TestEveryEventIsInTheHistory(t *testing.T) {
	reasons := map[workflow.Transition]string{
		workflow.TransitionReject: "no", workflow.TransitionCompensate: "no", workflow.TransitionStick: "no", workflow.TransitionExtend: "late", workflow.TransitionResume: "too late",
		workflow.TransitionRetryUndo: "the service is back", workflow.TransitionRetryRun: "the service is back", workflow.TransitionGiveUp: "done by hand",
		workflow.TransitionHasten: "the service is back",
	}
	tables := maps.Clone(allowed)
	tables[workflow.TransitionRetryRun] = allowedUndisturbed[workflow.TransitionRetryRun]
	for transition, table := range tables {
		for from, to := range table {
			t.Run(string(transition)+" in "+string(from), func(t *testing.T) {
				p := workflowtest.FullProgress("t")
				p.State, p.Cause, p.History = from, workflow.CauseFailed, nil
				if transition == workflow.TransitionRetryRun {
					p.Cause = ""
				}
				if err := fire(p, transition, workflow.CauseFailed); err != nil {
					t.Fatal(err)
				}
				want := workflow.StateChange{At: workflow.At(workflowtest.Start), Transition: transition, State: to, Reason: reasons[transition]}
				switch transition {
				case workflow.TransitionRetryUndo, workflow.TransitionRetryRun, workflow.TransitionGiveUp, workflow.TransitionHasten:
					want.By = "ada"
				}
				if diff := cmp.Diff([]workflow.StateChange{want}, p.History); diff != "" {
					t.Errorf("history (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestHistoryOfATransaction(t *testing.T) {
	r := completed(t)
	r.now = r.now.Add(time.Minute)
	r.receive(workflow.OperationCancel, "op-2", nil)
	r.advance()
	r.unwind()
	var got []string
	for _, e := range r.p.History {
		got = append(got, fmt.Sprintf("%s %s %q", e.Transition, e.State, e.Reason))
	}
	want := []string{`Start Running ""`, `Complete Completed ""`, `Compensate Compensating "cancelled by its client"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if last := lastOf(r.p); last.At != workflow.At(r.now) {
		t.Errorf("the newest entry is of %s, want %s", last.At, r.now)
	}
}

// again takes a Stuck transaction through an operator's retry, back to Stuck.
func again(t *testing.T, p *workflow.Progress, n int) {
	t.Helper()
	at := workflowtest.Start.Add(time.Duration(n) * time.Minute)
	if err := p.RetryUndo("ada", fmt.Sprint("try ", n), at); err != nil {
		t.Fatal(err)
	}
	if err := p.Stick(fmt.Sprint("stuck ", n), at, limits); err != nil {
		t.Fatal(err)
	}
}

// Ensure that the history is bounded, and that the first entry and the
// operators' acts outlive the system's own.
func TestHistoryIsBounded(t *testing.T) {
	p := workflowtest.FullProgress("t")
	first := workflow.StateChange{Transition: workflow.TransitionStart, State: workflow.Running}
	p.State, p.History = workflow.Stuck, []workflow.StateChange{first}
	for n := range 70 {
		again(t, p, n)
	}
	if len(p.History) != workflow.MaxHistory {
		t.Fatalf("%d entries, want %d", len(p.History), workflow.MaxHistory)
	}
	acts := 0
	for i, e := range p.History {
		if e.By != "" {
			acts++
		}
		if i > 1 && e.At.Before(p.History[i-1].At.Time) {
			t.Errorf("entry %d is older than the one before it", i)
		}
	}
	if acts != 70 || p.History[0] != first {
		t.Errorf("%d acts of operators are left of 70, and %+v of the first entry", acts, p.History[0])
	}
	if last := lastOf(p); last.Transition != workflow.TransitionStick || last.Reason != "stuck 69" {
		t.Errorf("the newest entry is %+v", last)
	}
}

// Ensure that the bound holds when there is nothing but operators' acts to go.
func TestHistoryOfActsIsBounded(t *testing.T) {
	p := workflowtest.FullProgress("t")
	p.State, p.History = workflow.Stuck, nil
	for n := range 3 * workflow.MaxHistory {
		again(t, p, n)
	}
	if len(p.History) != workflow.MaxHistory {
		t.Fatalf("%d entries, want %d", len(p.History), workflow.MaxHistory)
	}
	if first := p.History[0]; first.Reason != "try 0" {
		t.Errorf("the first entry is %+v", first)
	}
}

// Ensure that a history that is cut short is not cut in a copy of the document.
func TestHistoryIsNotShared(t *testing.T) {
	p := workflowtest.FullProgress("t")
	p.State, p.History = workflow.Stuck, nil
	for n := range workflow.MaxHistory / 2 {
		again(t, p, n)
	}
	before := p.Clone()
	copied := p.Clone()
	again(t, copied, 999)
	if diff := cmp.Diff(before.History, p.History); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
