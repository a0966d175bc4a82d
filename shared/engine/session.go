package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// session is the work of one runner on one transaction. One goroutine owns it;
// calls of a stage only read it.
type session struct {
	r        *Engine
	w        work
	id       string    // of the runner
	deadline time.Time // of the invocation
	jitter   float64
	// callsNothing keeps the session from starting any step.
	callsNothing bool

	p     *workflow.Progress // as last read or saved
	etag  string
	epoch int // of our lease
}

// errLeaseLost is returned by save when another has the transaction.
var errLeaseLost = errors.New("lease lost")

// run works as long as it holds the lease: call what is in flight, save what
// came of it together with what is in flight next.
func (s *session) run(ctx context.Context) error {
	for s.p.Lease.Runner == s.id {
		results := s.callAll(ctx)
		err := s.save(ctx, func(p *workflow.Progress, now time.Time) error {
			return s.stage(ctx, p, results, now)
		})
		if errors.Is(err, errLeaseLost) {
			s.r.Log.WarnContext(ctx, "lease lost, results dropped", telemetry.KeyTransaction, s.p.ID, telemetry.KeyState, s.p.State)
			return s.r.Successor(ctx, s.p)
		}
		if err != nil {
			return err
		}
	}
	s.tellPutOff(ctx)
	return s.r.Successor(ctx, s.p)
}

// undoTooLong is how long an undoing may last before somebody should look: a
// service that is restarted or deployed is back by then.
const undoTooLong = time.Hour

// tellPutOff tells of an undoing that this run has left unfinished.
func (s *session) tellPutOff(ctx context.Context) {
	if s.p.State != workflow.Compensating || !s.w.Acts(s.p.State) {
		return
	}
	lasts := s.r.Now().Sub(s.p.UndoingSince().Time)
	if s.r.PutOff != nil {
		s.r.PutOff(ctx, lasts)
	}
	if lasts < undoTooLong {
		return
	}
	for _, step := range s.p.Steps {
		if step.State == workflow.StepUndoing && step.UndoError != nil {
			s.r.Log.WarnContext(ctx, "undo lasts long", telemetry.KeyTransaction, s.p.ID, telemetry.KeyStep, step.Name,
				telemetry.KeyAttempt, step.UndoAttempts, telemetry.KeyDuration, lasts.Milliseconds(),
				telemetry.KeyStatus, step.UndoError.Status, telemetry.KeyError, step.UndoError.Message)
		}
	}
}

// stage is the change that ends one stage and begins the next.
func (s *session) stage(ctx context.Context, p *workflow.Progress, results []workflow.Finished, now time.Time) error {
	if err := s.w.Record(p, results, s.r.Budgets.Backoff(s.jitter), s.turn(now, now, true)); err != nil {
		return err
	}
	if err := s.advance(ctx, p, now); err != nil {
		return err
	}
	if s.w.Acts(p.State) && len(p.InFlight()) > 0 {
		p.Renew(s.id, now.Add(s.r.Budgets.Lease), LeaseMargin)
	} else {
		p.Release(s.r.Definition.NextAt(p, now))
	}
	return nil
}

func (s *session) turn(now, due time.Time, start bool) workflow.Turn {
	return workflow.Turn{Now: now, Due: due, Start: start, Limits: s.r.Budgets.Limits()}
}

// advance begins the next stage if its longest call would end in time. Where any call
// of the definition would, which stage that is makes no difference.
func (s *session) advance(ctx context.Context, p *workflow.Progress, now time.Time) error {
	start := s.turn(now, now, true)
	room := s.deadline.Sub(now)
	if ctx.Err() == nil && s.r.longest <= room {
		return s.w.Advance(p, start)
	}
	tried := p.Clone()
	if err := s.w.Advance(tried, start); err != nil {
		return err
	}
	longest := time.Duration(0)
	for _, name := range tried.InFlight() {
		longest = max(longest, s.r.callTimeout(s.r.Definition.Step(name)))
	}
	if ctx.Err() == nil && longest <= room {
		*p = *tried
		return nil
	}
	return s.w.Advance(p, s.turn(now, now, false))
}

func (s *session) callAll(ctx context.Context) []workflow.Finished {
	names := s.p.InFlight()
	// The business makes its calls here, where a panic ends the invocation alone.
	attempts := make([]Attempt, len(names))
	for i, name := range names {
		attempts[i] = s.attemptAt(name)
	}
	results := make([]workflow.Finished, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { results[i] = s.attempt(ctx, name, attempts[i]) })
	}
	wg.Wait()
	return results
}

// attemptAt returns the first attempt at a step in flight. The document counts it
// since the step was marked.
func (s *session) attemptAt(step string) Attempt {
	p := s.p.Step(step)
	a := Attempt{
		TransactionID: s.p.ID, OperationID: s.p.Serving(), Revision: s.p.Revision, Call: s.w.Call(s.p, step),
		Step: step, Number: p.Attempts, Timeout: s.r.callTimeout(s.r.Definition.Step(step)),
	}
	if p.State == workflow.StepUndoing {
		a.Undo, a.Number = true, p.UndoAttempts
	}
	return a
}

// save applies change to the document and writes it, on whatever base it takes,
// until it is written or the lease is lost. Conflicts with others' wishes don't
// count as tries: however many come in, the lease's holder gets on. The error of
// a write whose fate could not be learnt leaves the lease to run out.
func (s *session) save(ctx context.Context, change func(*workflow.Progress, time.Time) error) error {
	id := s.p.ID
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	for try := 1; ; {
		next := s.p.Clone()
		if err := change(next, s.r.Now()); err != nil {
			return fmt.Errorf("save transaction %s: %w", id, err)
		}
		before := s.p.State
		etag, err := s.r.Store.Replace(saving, next, s.etag)
		if err == nil {
			s.p, s.etag = next, etag
			s.r.LogState(ctx, before, s.p)
			return nil
		}
		switch kind := failure.KindOf(err); {
		case kind == failure.Permanent, kind == failure.Invalid, try == maxTries:
			return fmt.Errorf("save transaction %s: %w", id, err)
		case kind == failure.Transient:
			if perr := s.r.Pause(saving, s.shortDelay(try)); perr != nil {
				return fmt.Errorf("save transaction %s: %w", id, errors.Join(err, perr))
			}
			try++
		}
		written, err := s.reread(saving, next.Saves)
		if err != nil {
			return fmt.Errorf("save transaction %s: %w", id, err)
		}
		if written {
			s.r.LogState(ctx, before, s.p)
			return nil
		}
	}
}

// reread learns what became of a save that was refused or whose answer was
// lost. Written means that the document carries it; no error and not written
// that the change is to be applied again, on the document as it is now.
func (s *session) reread(ctx context.Context, saves int) (written bool, err error) {
	p, etag, err := s.readAgain(ctx)
	if err != nil {
		return false, err
	}
	last := s.p
	s.p, s.etag = p, etag
	switch {
	case p.Lease.Epoch == s.epoch && p.Saves == saves:
		return true, nil
	case p.Lease.Epoch == s.epoch && p.Lease.Runner == s.id && p.Saves == last.Saves:
		return false, nil // someone has added a wish, or nothing was written
	}
	return false, errLeaseLost
}

func (s *session) readAgain(ctx context.Context) (*workflow.Progress, string, error) {
	for try := 1; ; try++ {
		p, etag, err := s.r.Store.Read(ctx, s.p.ID)
		if err == nil || failure.KindOf(err) != failure.Transient || try == maxTries {
			return p, etag, err
		}
		if perr := s.r.Pause(ctx, s.shortDelay(try)); perr != nil {
			return nil, "", errors.Join(err, perr)
		}
	}
}
