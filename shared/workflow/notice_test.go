package workflow_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var notifying = workflow.Limits{CompleteBy: limits.CompleteBy, DocumentTTL: limits.DocumentTTL, UndoAttempts: limits.UndoAttempts, Notify: true}

// Ensure each transition that brings a transaction to rest puts its state into the
// outbox, no other transition does, and none when nobody is to be told.
func TestEveryRestIsANotice(t *testing.T) {
	for transition, table := range allowed {
		for from := range table {
			for _, l := range []workflow.Limits{notifying, limits} {
				t.Run(fmt.Sprintf("%s in %s, notify %t", transition, from, l.Notify), func(t *testing.T) {
					p := workflowtest.FullProgress("t")
					p.State, p.Cause, p.Outbox = from, workflow.CauseFailed, workflow.Outbox{}
					saves := p.Saves
					if err := fireWithin(p, transition, l); err != nil {
						t.Fatal(err)
					}
					if !p.Rests() || !l.Notify {
						if len(p.Outbox.Notices) != 0 || p.Outbox.Count != 0 || p.Outbox.Wake != 0 || !p.Outbox.At.IsZero() {
							t.Errorf("%s: outbox %+v, want none", p.State, p.Outbox)
						}
						return
					}
					at := workflow.At(workflowtest.Start)
					want := workflow.Notice{Number: 1, State: p.State, Cause: p.Cause, Reason: p.Reason, Revision: p.Revision, At: at}
					if len(p.Outbox.Notices) != 1 || p.Outbox.Notices[0] != want {
						t.Errorf("notices %+v, want %+v", p.Outbox.Notices, want)
					}
					if p.Outbox.Count != 1 || p.Outbox.Wake != 1 || p.Outbox.At != at || p.Saves != saves {
						t.Errorf("outbox %+v", p.Outbox)
					}
				})
			}
		}
	}
}

// fireWithin is fire with other limits.
func fireWithin(p *workflow.Progress, transition workflow.Transition, l workflow.Limits) error {
	now := workflowtest.Start
	switch transition {
	case workflow.TransitionComplete:
		return p.Complete("", now, l)
	case workflow.TransitionReject:
		return p.Reject(p.Cause, "no", now, l)
	case workflow.TransitionCancel:
		return p.Cancel(now, l)
	case workflow.TransitionEndUndo:
		return p.EndUndo(now, l)
	case workflow.TransitionStick:
		return p.Stick("no", now, l)
	case workflow.TransitionGiveUp:
		return p.GiveUp("ada", "done by hand", now, l)
	}
	return fire(p, transition, p.Cause)
}

func numbers(o workflow.Outbox) []int {
	var out []int
	for _, n := range o.Notices {
		out = append(out, n.Number)
	}
	return out
}

// Ensure the numbers never start again, the messages have numbers of their own,
// and a new rest is due at once whatever the ones before it wait for.
func TestOutboxOverSeveralRests(t *testing.T) {
	now := workflowtest.Start
	p := workflowtest.Trip().New("t", now, notifying)
	rest := func() {
		t.Helper()
		now = now.Add(time.Minute)
		if p.State == workflow.Completed {
			if err := p.Change(now, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		p.State = workflow.Running
		if err := p.Complete("", now, notifying); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, count, wake int, at time.Time, left ...int) {
		t.Helper()
		o := p.Outbox
		due := workflow.Instant{}
		if !at.IsZero() {
			due = workflow.At(at)
		}
		if o.Count != count || o.Wake != wake || o.At != due || !slices.Equal(numbers(o), left) {
			t.Errorf("%s: outbox %+v, want count %d, wake %d, due %v, notices %v", what, o, count, wake, due, left)
		}
	}
	rest()
	want("the first", 1, 1, now, 1)
	p.Outbox.Laters = 3
	later := now.Add(time.Hour)
	p.RaiseNotice(later)
	want("put off", 1, 2, later, 1)
	rest()
	want("a second meanwhile", 2, 3, now, 1, 2)
	if p.Outbox.Laters != 0 {
		t.Errorf("laters %d behind a new rest, want none", p.Outbox.Laters)
	}
	p.Outbox.Laters = 2
	p.Notified(1)
	want("one is told", 2, 3, now, 2)
	if p.Outbox.Laters != 0 {
		t.Errorf("laters %d behind a success, want none", p.Outbox.Laters)
	}
	p.Notified(1)
	want("told again", 2, 3, now, 2)
	p.Notified(2)
	want("all are told", 2, 3, time.Time{})
	rest()
	want("a third", 3, 4, now, 3)
	rest()
	p.Notified(4)
	want("two told at once", 4, 5, time.Time{})
}

// Ensure that a copy of a document keeps its outbox when the other is changed:
// saves are tried on copies.
func TestOutboxOfACopy(t *testing.T) {
	p := workflowtest.Trip().New("t", workflowtest.Start, notifying)
	for range 2 {
		p.State = workflow.Running
		if err := p.Complete("", workflowtest.Start, notifying); err != nil {
			t.Fatal(err)
		}
	}
	first, second := p.Clone(), p.Clone()
	for c, n := range map[*workflow.Progress]int{first: 5, second: 7} {
		c.Notified(1)
		c.State, c.Revision = workflow.Running, n
		if err := c.Complete("", workflowtest.Start, notifying); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(numbers(p.Outbox), []int{1, 2}) || first.Outbox.Notices[1].Revision != 5 || second.Outbox.Notices[1].Revision != 7 {
		t.Errorf("outboxes %+v, %+v, %+v", p.Outbox, first.Outbox, second.Outbox)
	}
}
