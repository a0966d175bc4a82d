package operate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Expectation is something that will happen to a transaction.
type Expectation struct {
	At   workflow.Instant `json:"at,omitzero"` // zero if it has no time
	What string           `json:"what"`        // for people
}

// expect tells what will happen to a transaction, and when, the soonest first.
func expect(d *workflow.Definition, p *workflow.Progress, now time.Time) []Expectation {
	next := []Expectation{}
	add := func(at workflow.Instant, format string, args ...any) {
		next = append(next, Expectation{At: at, What: fmt.Sprintf(format, args...)})
	}
	cancelled := slices.ContainsFunc(p.Operations, func(o workflow.OperationRecord) bool {
		return o.Kind == workflow.OperationCancel && o.State == workflow.OperationPending
	})
	switch {
	case p.State == workflow.Stuck && p.Cause == "" && cancelled:
		add(workflow.Instant{}, "nothing by itself: it waits for an operator; a retry undoes it, since its client has cancelled it meanwhile")
	case p.State == workflow.Stuck && p.Cause == "":
		add(workflow.Instant{}, "nothing by itself: it waits for an operator; a retry continues its run")
	case p.State == workflow.Stuck:
		add(workflow.Instant{}, "nothing by itself: it waits for an operator")
	case p.State.Final():
		expiry := p.EndedAt.Add(time.Duration(p.TTL) * time.Second)
		if until := d.LastChange(p); p.State == workflow.Completed && now.Before(until) {
			if until.After(expiry) {
				until = expiry // nothing is known of it any more
			}
			add(workflow.At(until), "until then its client can cancel or reschedule it")
		}
		add(workflow.At(expiry), "its document expires")
	default:
		expectOfOpen(p, now, add)
	}
	if len(p.Outbox.Notices) > 0 {
		add(p.Outbox.At, "%d notices of its rest are to be delivered", len(p.Outbox.Notices))
	}
	slices.SortStableFunc(next, func(a, b Expectation) int { return a.At.Compare(b.At.Time) })
	return next
}

func expectOfOpen(p *workflow.Progress, now time.Time, add func(at workflow.Instant, format string, args ...any)) {
	wake := engine.WakeID(p.ID, string(p.WakeQueue), p.Wake)
	switch {
	case p.Lease.Live(now):
		add(p.Lease.Until, "until then runner %s holds it; steps in flight: %s", p.Lease.Runner, cmp.Or(strings.Join(p.Marked(), ", "), "none"))
		add(p.WakeAt, "wake %s takes it over if that runner is gone", wake)
	case overdue(p.WakeAt, now):
		add(p.WakeAt, "wake %s is overdue and unanswered: Sweep sends another", wake)
	default:
		add(p.WakeAt, "wake %s continues it", wake)
	}
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case !now.Before(s.NotBefore.Time):
		case s.State == workflow.StepPending:
			add(s.NotBefore, "step %s is retried", s.Name)
		case s.State == workflow.StepUndoing:
			add(s.NotBefore, "the undo of step %s is retried", s.Name)
		}
	}
	if p.State != workflow.Compensating && !p.CompleteBy.IsZero() {
		add(p.CompleteBy, "its time limit: if not completed by then, it is undone")
	}
}
