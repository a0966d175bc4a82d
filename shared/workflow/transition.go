package workflow

import (
	"slices"
	"strconv"
	"time"
)

// Transition is what moves a transaction from one state to another. There is one
// function per transition, named like it; nothing else writes State.
//
//	Start       Accepted                      → Running
//	Complete    Running                       → Completed
//	Change      Running, Completed            → Running
//	Extend      Running                       → Running
//	Reject      Accepted, Running             → Rejected
//	Cancel      Accepted, Running             → Cancelled
//	Compensate  Running, Completed            → Compensating
//	Resume      Compensating                  → Running
//	EndUndo     Compensating                  → Compensated, Cancelled
//	Stick       Accepted, Running, Compensating → Stuck
//	RetryUndo   Stuck, with a cause           → Compensating
//	RetryRun    Stuck, without a cause        → Accepted, Running
//	GiveUp      Stuck                         → GivenUp
//	Hasten      Accepted, Running, Compensating → the same
//
// Some of them go beyond the first sketch of the states. A reschedule takes a
// Completed transaction back to Running (Change), since its steps are called
// again. And a transaction whose messages are dead-lettered time and again is
// Stuck wherever it stands (Stick), so that an operator sees it; one that was not
// being undone has no cause, and its run goes on (RetryRun). And a cancel that
// comes too late, since the world has finished what a pivot began, is taken back
// (Resume).
type Transition string

// The transitions.
const (
	TransitionStart      Transition = "Start"
	TransitionComplete   Transition = "Complete"
	TransitionChange     Transition = "Change"
	TransitionExtend     Transition = "Extend"
	TransitionReject     Transition = "Reject"
	TransitionCancel     Transition = "Cancel"
	TransitionCompensate Transition = "Compensate"
	TransitionResume     Transition = "Resume"
	TransitionEndUndo    Transition = "EndUndo"
	TransitionStick      Transition = "Stick"
	TransitionRetryUndo  Transition = "RetryUndo"
	TransitionRetryRun   Transition = "RetryRun"
	TransitionGiveUp     Transition = "GiveUp"
	TransitionHasten     Transition = "Hasten"
)

// TransitionError is returned by a transition that the state does not allow.
// The transaction is unchanged.
type TransitionError struct {
	Transition Transition
	State      State
	ID         string
}

func (e *TransitionError) Error() string {
	return "transaction " + e.ID + ": " + string(e.Transition) + " is not allowed in state " + strconv.Quote(string(e.State))
}

func (p *Progress) move(transition Transition, to State, from ...State) error {
	if !slices.Contains(from, p.State) {
		return &TransitionError{Transition: transition, State: p.State, ID: p.ID}
	}
	p.State = to
	return nil
}

// Start begins the first run.
func (p *Progress) Start(now time.Time, completeBy time.Duration) error {
	if err := p.move(TransitionStart, Running, Accepted); err != nil {
		return err
	}
	p.StartedAt = At(now)
	p.CompleteBy = At(now.Add(completeBy))
	p.note(TransitionStart, "", "", now)
	return nil
}

// Complete ends a run in which all steps have succeeded. A reason tells what is
// not as its client has asked for.
func (p *Progress) Complete(reason string, now time.Time, l Limits) error {
	if err := p.move(TransitionComplete, Completed, Running); err != nil {
		return err
	}
	p.Previous = nil
	p.Reason = reason
	p.note(TransitionComplete, "", reason, now)
	p.end(now, l)
	return nil
}

// Change takes the transaction (back) to Running for a reschedule. One that
// was Completed gets a new time limit, since the old one may have passed.
func (p *Progress) Change(now time.Time, completeBy time.Duration) error {
	reopened := p.State == Completed
	if err := p.move(TransitionChange, Running, Running, Completed); err != nil {
		return err
	}
	if reopened {
		p.CompleteBy = At(now.Add(completeBy))
		p.Reason = ""
		p.EndedAt = Instant{}
		p.TTL = 0
		p.Laters = 0
	}
	p.note(TransitionChange, "", "", now)
	return nil
}

// Extend gives a run that must not be undone more time. The caller has made sure
// of that; reason says what it was late for.
func (p *Progress) Extend(reason string, now, completeBy time.Time) error {
	if err := p.move(TransitionExtend, Running, Running); err != nil {
		return err
	}
	p.CompleteBy = At(completeBy)
	p.note(TransitionExtend, "", reason, now)
	return nil
}

// Reject ends a transaction that a service, or the time limit, said no to
// before there was anything to undo. The caller has made sure of that.
func (p *Progress) Reject(cause Cause, reason string, now time.Time, l Limits) error {
	if err := p.move(TransitionReject, Rejected, Accepted, Running); err != nil {
		return err
	}
	p.Cause, p.Reason = cause, reason
	p.note(TransitionReject, "", reason, now)
	p.end(now, l)
	return nil
}

// Cancel ends a transaction that its client cancelled before there was
// anything to undo. The caller has made sure of that.
func (p *Progress) Cancel(now time.Time, l Limits) error {
	if err := p.move(TransitionCancel, Cancelled, Accepted, Running); err != nil {
		return err
	}
	p.Cause = CauseCancelled
	p.note(TransitionCancel, "", "", now)
	p.end(now, l)
	return nil
}

// Compensate begins the undoing. From Completed only the client's cancel does.
func (p *Progress) Compensate(cause Cause, reason string, now time.Time) error {
	from := []State{Running}
	if cause == CauseCancelled {
		from = append(from, Completed)
	}
	if err := p.move(TransitionCompensate, Compensating, from...); err != nil {
		return err
	}
	p.Cause, p.Reason = cause, reason
	p.EndedAt = Instant{}
	p.TTL = 0
	p.Laters = 0
	for i := range p.Steps {
		p.Steps[i].NotBefore = Instant{}
	}
	p.note(TransitionCompensate, "", reason, now)
	return nil
}

// Resume goes on with the run that a cancel has interrupted, with time of its
// own. The caller has made sure that nothing was undone; reason says why the
// cancel came too late.
func (p *Progress) Resume(reason string, now time.Time, completeBy time.Duration) error {
	if err := p.move(TransitionResume, Running, Compensating); err != nil {
		return err
	}
	p.Cause, p.Reason = "", ""
	p.CompleteBy = At(now.Add(completeBy))
	p.Laters = 0
	p.note(TransitionResume, "", reason, now)
	return nil
}

// EndUndo ends the undoing: Cancelled when the client was its cause, otherwise
// Compensated.
func (p *Progress) EndUndo(now time.Time, l Limits) error {
	to := Compensated
	if p.Cause == CauseCancelled {
		to = Cancelled
	}
	if err := p.move(TransitionEndUndo, to, Compensating); err != nil {
		return err
	}
	p.note(TransitionEndUndo, "", "", now)
	p.end(now, l)
	return nil
}

// Stick leaves the transaction to an operator. It keeps the cause, if there is
// one, so that a retry goes on with the same undoing; without one nothing is
// being undone, and a retry goes on with the run.
func (p *Progress) Stick(reason string, now time.Time, l Limits) error {
	if err := p.move(TransitionStick, Stuck, Accepted, Running, Compensating); err != nil {
		return err
	}
	p.Reason = reason
	p.note(TransitionStick, "", reason, now)
	p.rest(now, l)
	return nil
}

// RetryUndo is an operator's retry of what was being undone: the undoing goes on,
// with fresh counters. by and why go into the history. The caller raises the wake.
func (p *Progress) RetryUndo(by, why string, now time.Time) error {
	if p.Cause == "" {
		return &TransitionError{Transition: TransitionRetryUndo, State: p.State, ID: p.ID}
	}
	if err := p.move(TransitionRetryUndo, Compensating, Stuck); err != nil {
		return err
	}
	p.countAnew()
	p.note(TransitionRetryUndo, by, why, now)
	return nil
}

// RetryRun is the same for what was not being undone: the run goes on where it
// stood, with time of its own, or is still to begin.
func (p *Progress) RetryRun(by, why string, now time.Time, completeBy time.Duration) error {
	if p.Cause != "" {
		return &TransitionError{Transition: TransitionRetryRun, State: p.State, ID: p.ID}
	}
	to := Running
	if p.StartedAt.IsZero() {
		to = Accepted
	}
	if err := p.move(TransitionRetryRun, to, Stuck); err != nil {
		return err
	}
	p.Reason = ""
	p.CompleteBy = At(now.Add(completeBy))
	p.countAnew()
	p.note(TransitionRetryRun, by, why, now)
	return nil
}

// countAnew lets everything be tried at once, as often as the first time.
func (p *Progress) countAnew() {
	p.Laters, p.DeadLetters = 0, 0
	for i := range p.Steps {
		p.Steps[i].NotBefore = Instant{}
		p.Steps[i].UndoLaters = 0
	}
}

// GiveUp is an operator's end of a transaction that could not be undone; note
// says what was done about it by hand.
func (p *Progress) GiveUp(by, note string, now time.Time, l Limits) error {
	if err := p.move(TransitionGiveUp, GivenUp, Stuck); err != nil {
		return err
	}
	p.Reason = note
	p.note(TransitionGiveUp, by, note, now)
	for i := range p.Operations {
		if p.Operations[i].State == OperationPending {
			p.Operations[i].end(OperationRefused, "an operator gave the transaction up", now)
		}
	}
	p.end(now, l)
	return nil
}

// Hasten is an operator's "now" for what goes on by itself, but later: what waits
// for its next attempt is due at once. The state stays, and so do the counters: if
// nothing is mended, it waits again as long as it would have. The caller raises the
// wake, and must not call it while a runner holds the lease, who owns the steps.
func (p *Progress) Hasten(by, why string, now time.Time) error {
	if err := p.move(TransitionHasten, p.State, Accepted, Running, Compensating); err != nil {
		return err
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; now.Before(s.NotBefore.Time) {
			s.NotBefore = At(now) // zero would say that an undo is on its way
		}
	}
	p.note(TransitionHasten, by, why, now)
	return nil
}

// end is common to all final states.
func (p *Progress) end(now time.Time, l Limits) {
	p.EndedAt = At(now)
	p.TTL = int(l.DocumentTTL / time.Second)
	p.rest(now, l)
}

// rest leaves no wake and no lease: nothing happens any more by itself, but
// that somebody is told.
func (p *Progress) rest(now time.Time, l Limits) {
	p.sleep()
	if l.Notify {
		p.announce(now)
	}
}

func (p *Progress) sleep() {
	p.Lease = Lease{Epoch: p.Lease.Epoch}
	p.WakeAt, p.WakeQueue = Instant{}, ""
}

// Rests reports whether nothing happens to the transaction by itself: it is
// final, or Stuck.
func (p *Progress) Rests() bool { return p.State.Final() || p.State == Stuck }
