package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Acted is what has become of a transaction by an act.
type Acted struct {
	ID    string         `json:"id"`
	State workflow.State `json:"state"`
	// Repeated is set when the same act, by the same operator and for the same
	// reason, was on record already: nothing was done.
	Repeated bool `json:"repeated"`
}

// MaxUntold is with how many notices that wait for their receiver a transaction can
// be retried: each end adds one, and they lie in its document.
const MaxUntold = 50

// Retry has a Stuck transaction go on, with fresh counters: with its undoing, or
// with its run if it was not being undone. It returns when that is on record; what
// comes of it is told by the transaction. A transaction that is not Stuck is
// refused, and one with MaxUntold notices.
func (s *Service) Retry(ctx context.Context, id string, a Actor) (Acted, error) {
	return s.act(ctx, id, retries, a, func(p *workflow.Progress, now time.Time) error {
		if n := len(p.Outbox.Notices); n >= MaxUntold {
			return &RefusedError{ID: id, State: string(p.State), Reason: fmt.Sprintf("%d of its notices wait for their receiver, which must take them first", n)}
		}
		var err error
		if p.Cause == "" {
			err = p.RetryRun(a.Name(), a.Why, now, s.c.Engine.Budgets.Limits().CompleteBy)
		} else {
			err = p.RetryUndo(a.Name(), a.Why, now)
		}
		if err != nil {
			return err
		}
		p.RaiseWake(now)
		return nil
	})
}

// GiveUp ends a Stuck transaction that can't be undone; the actor's Why says
// what was done about it by hand. A transaction that is not Stuck is refused.
func (s *Service) GiveUp(ctx context.Context, id string, a Actor) (Acted, error) {
	return s.act(ctx, id, giveUps, a, func(p *workflow.Progress, now time.Time) error {
		return p.GiveUp(a.Name(), a.Why, now, s.c.Engine.Budgets.Limits())
	})
}

// Wake has an open transaction that waits go on now: what is due later is due at once,
// and its wake is sent. It returns when that is on record. A transaction that rests is
// refused, and one that is being worked on: there nothing waits.
func (s *Service) Wake(ctx context.Context, id string, a Actor) (Acted, error) {
	return s.act(ctx, id, wakes, a, func(p *workflow.Progress, now time.Time) error {
		if p.Lease.Live(now) {
			return &RefusedError{ID: id, State: string(p.State), Reason: "it is being worked on, until " + p.Lease.Until.String() + " at most: nothing of it waits"}
		}
		if err := p.Hasten(a.Name(), a.Why, now); err != nil {
			return err
		}
		p.RaiseWake(now)
		return nil
	})
}

// act is what an operator does, and the transitions by which it is known in a history.
type act struct {
	name        string
	transitions []workflow.Transition
	// can reports whether a transaction that has it on record as the latest of its
	// kind, by the same operator and for the same reason, or doesn't, takes it.
	can     func(p *workflow.Progress, onRecord bool, now time.Time) bool
	refusal string
}

func whileStuck(p *workflow.Progress, _ bool, _ time.Time) bool { return p.State == workflow.Stuck }

const onlyStuck = "only a transaction that is Stuck can be retried or given up"

var (
	retries = act{ActRetry, []workflow.Transition{workflow.TransitionRetryUndo, workflow.TransitionRetryRun}, whileStuck, onlyStuck}
	giveUps = act{ActGiveUp, []workflow.Transition{workflow.TransitionGiveUp}, whileStuck, onlyStuck}
	wakes   = act{ActWake, []workflow.Transition{workflow.TransitionHasten}, func(p *workflow.Progress, onRecord bool, now time.Time) bool {
		return !p.Rests() && (!onRecord || p.WakeAt.After(now)) // else the wake is under way
	}, "only an open transaction can be woken; one that is Stuck can be retried"}
)

func (s *Service) act(ctx context.Context, id string, what act, a Actor,
	change func(*workflow.Progress, time.Time) error) (Acted, error) {
	now, repeated := s.now(), false
	p, err := s.updateTransaction(ctx, id, func(p *workflow.Progress) (bool, error) {
		last := lastOf(p, what, a)
		switch {
		case last != nil && last.At.Equal(now): // our own write, whose answer was lost
			return false, nil
		case what.can(p, last != nil, now):
			return true, change(p, now)
		case last != nil:
			repeated = true
			return false, nil
		}
		return false, &RefusedError{ID: id, State: string(p.State), Reason: what.refusal}
	})
	if err != nil {
		return Acted{}, fmt.Errorf("%s of transaction %s: %w", what.name, id, err)
	}
	s.c.Logger.InfoContext(ctx, "operator acted", telemetry.KeyTransaction, id, telemetry.KeyState, p.State,
		"event", what.name, "by", a.Name(), "repeated", repeated)
	s.send(ctx, p)
	return Acted{ID: id, State: p.State, Repeated: repeated}, nil
}

func (s *Service) updateTransaction(ctx context.Context, id string, change func(*workflow.Progress) (bool, error)) (*workflow.Progress, error) {
	return failure.Update[workflow.Progress]{
		Op: "update transaction", ID: id, Change: change, Lost: 1, // one that is lost twice is the operator's to repeat
		Read: func(ctx context.Context) (*workflow.Progress, string, error) { return s.c.Engine.Read(ctx, id) },
		Write: func(ctx context.Context, p *workflow.Progress, etag string) error {
			_, err := s.c.Engine.Store.Replace(ctx, p, etag)
			return err
		},
	}.Do(ctx)
}

// lastOf returns the latest entry of the act in the history if it is by that
// actor, for that reason.
func lastOf(p *workflow.Progress, what act, a Actor) *workflow.StateChange {
	for i := len(p.History) - 1; i >= 0; i-- {
		if e := &p.History[i]; slices.Contains(what.transitions, e.Transition) {
			if e.By == a.Name() && e.Reason == a.Why {
				return e
			}
			return nil
		}
	}
	return nil
}

// send sends what a transaction asks for once it is saved. The act is on record
// by then: what can't be sent now, Sweep sends.
func (s *Service) send(ctx context.Context, p *workflow.Progress) {
	if err := s.c.Engine.Successor(ctx, p); err != nil {
		s.c.Logger.WarnContext(ctx, "wake of an operator's act is left to Sweep", telemetry.KeyTransaction, p.ID, telemetry.KeyError, err)
	}
}
