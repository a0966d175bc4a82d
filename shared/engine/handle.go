package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// maxTries is how often a message is put to the document when others keep
// changing it, or when a write's answer is lost.
const maxTries = 8

func (r *Engine) newSession(w work) *session {
	return &session{
		r: r, w: w,
		id:       fmt.Sprintf("%016x%016x", r.Random(), r.Random()),
		deadline: r.Now().Add(r.Budgets.InvocationTimeout),
		jitter:   r.Jitter(),
	}
}

func (s *session) handle(ctx context.Context, e Envelope) error {
	for try := 1; ; try++ {
		verdict, err := s.meet(ctx, e)
		switch {
		case err == nil && verdict == held:
			return s.run(ctx)
		case verdict == there && try < maxTries:
			continue
		case verdict != repeat || try == maxTries:
			return err
		}
		if perr := s.r.Pause(ctx, s.shortDelay(try)); perr != nil {
			return errors.Join(err, perr)
		}
	}
}

type verdict int

const (
	settled verdict = iota // nothing more to do for the message
	held                   // the session has the lease
	repeat                 // with the error of a write that may have been made: read again
	there                  // the document that was to be new: read it
)

// meet reads the document and decides what the message means for it.
func (s *session) meet(ctx context.Context, e Envelope) (verdict, error) {
	base, etag, err := s.find(ctx, e)
	switch {
	case failure.Is(err, failure.NotFound):
		if base, err = s.w.Missing(e); err != nil {
			return settled, err
		}
		etag = ""
	case err != nil:
		return settled, fmt.Errorf("handle message of transaction %s: %w", e.TransactionID, err)
	case base.Lease.Runner == s.id: // the answer to our take was lost
		s.holds(base, etag)
		return held, nil
	}
	telemetry.Link(ctx, base.TraceParent) // where the message has a trace of its own, such as a cancel's
	now := s.r.Now()
	next := base.Clone()
	s.recognize(ctx, base, e)
	fresh, err := s.receive(ctx, next, e.AsOperation())
	if err != nil {
		return again(err), err
	}
	current := e.Operation == "" && e.Wake == base.Wake && base.WakeQueue == s.w.Queue()
	switch {
	case base.Rests() && !fresh:
		return settled, s.r.Successor(ctx, base) // which has nothing to send but a notice that may be lost
	case !s.w.Acts(base.State):
		if !fresh {
			return settled, s.r.Successor(ctx, base)
		}
		return s.refuse(ctx, next, etag, now)
	case base.Lease.Live(now):
		if !fresh && !current {
			return settled, s.r.Successor(ctx, base)
		}
		// The runner sees the wish at its next save. The wake behind the lease's
		// end, which everyone may send, is for the case that it makes none.
		if current {
			next.RaiseWake(base.Lease.Until.Add(LeaseMargin))
		}
		return s.leave(ctx, next, etag)
	case fresh || current || !now.Before(s.dueAt(base, now)):
		return s.take(ctx, next, etag, now, current)
	}
	return settled, s.r.Successor(ctx, base)
}

// recognize tells of an operation that was on record before this session wrote
// anything: an event that was read again, or a message that was sent again.
func (s *session) recognize(ctx context.Context, base *workflow.Progress, e Envelope) {
	if e.Operation == "" || s.doubt || base.Operation(e.OperationID) == nil {
		return
	}
	s.r.Log.InfoContext(ctx, "operation comes again", telemetry.KeyTransaction, e.TransactionID,
		telemetry.KeyOperation, e.OperationID, telemetry.KeyState, base.State)
	if s.r.Recognized != nil {
		s.r.Recognized(ctx)
	}
}

// find reads the document of a message. A start's is taken to be new, at first: so
// it is read only if its creation is refused.
func (s *session) find(ctx context.Context, e Envelope) (*workflow.Progress, string, error) {
	if workflow.OperationKind(e.Operation) == workflow.OperationStart && !s.tried {
		s.tried = true
		if base, err := s.w.Missing(e); err == nil { // else it is too old to be new
			return base, "", nil
		}
	}
	return s.r.Read(ctx, e.TransactionID)
}

// dueAt returns when there is something to do for an open transaction without a
// live lease. WakeAt alone does not tell: Sweep puts it off while a wake waits in
// a long queue, and that wake is to be acted on when it comes.
func (s *session) dueAt(p *workflow.Progress, now time.Time) time.Time {
	due := s.r.Definition.NextAt(p, now)
	if p.Lease.Runner != "" {
		due = p.Lease.Until.Add(LeaseMargin)
	}
	return earliest(due, p.WakeAt.Time)
}

// refuse ends an operation for which the state leaves no room, whoever holds
// the lease: it touches nothing but the operations.
func (s *session) refuse(ctx context.Context, next *workflow.Progress, etag string, now time.Time) (verdict, error) {
	if err := s.w.Advance(next, s.turn(now, now, false)); err != nil {
		return settled, err
	}
	return s.leave(ctx, next, etag)
}

// leave writes what others do next, and sends the wake that makes them do it.
func (s *session) leave(ctx context.Context, next *workflow.Progress, etag string) (verdict, error) {
	if _, err := s.write(ctx, next, etag); err != nil {
		return repeatable(err)
	}
	return settled, s.r.Successor(ctx, next)
}

// take decides what is to be done, and writes it: with the lease when there is
// something to call, otherwise at once as done.
func (s *session) take(ctx context.Context, next *workflow.Progress, etag string, now time.Time, current bool) (verdict, error) {
	due := now
	if current && next.WakeAt.After(now) {
		due = next.WakeAt.Time
	}
	before := next.State
	abandoned := next.Lease.Runner != "" // who had the lease did not give it back
	next.Abandoned()
	if err := s.w.Advance(next, s.turn(now, due, !s.callsNothing)); err != nil {
		return settled, err
	}
	if len(next.Marked()) > 0 && s.w.Acts(next.State) {
		next.Take(s.id, now.Add(s.r.Budgets.Lease), LeaseMargin)
	} else {
		next.Lease.Epoch++
		next.Release(s.r.Definition.NextAt(next, now))
	}
	newTag, err := s.write(ctx, next, etag)
	if err != nil {
		verdict, told := repeatable(err)
		if etag == "" && failure.Is(err, failure.Conflict) {
			verdict = there
		}
		return verdict, told
	}
	if abandoned {
		s.r.Log.InfoContext(ctx, "lease taken over", telemetry.KeyTransaction, next.ID, "epoch", next.Lease.Epoch)
	}
	s.r.LogState(ctx, before, next)
	s.holds(next, newTag)
	if next.Lease.Runner == s.id {
		return held, nil
	}
	return settled, s.r.Successor(ctx, next)
}

func (s *session) write(ctx context.Context, p *workflow.Progress, etag string) (newTag string, err error) {
	if etag == "" {
		newTag, err = s.r.Store.Create(ctx, p)
	} else {
		newTag, err = s.r.Store.Replace(ctx, p, etag)
	}
	s.doubt = s.doubt || failure.Is(err, failure.Transient)
	return newTag, err
}

// repeatable says of a failed write whether to read again: the document may
// have been changed by another, or by this very write.
func repeatable(err error) (verdict, error) {
	return again(err), fmt.Errorf("write transaction: %w", err)
}

func again(err error) verdict {
	switch failure.KindOf(err) {
	case failure.Permanent, failure.Invalid:
		return settled
	}
	return repeat
}
