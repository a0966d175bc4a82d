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
	patience time.Time // nothing begins after it; zero: until the deadline
	jitter   float64
	// callsNothing keeps the session from starting any step.
	callsNothing bool
	tried        bool // to create the document without reading it
	doubt        bool // whether a write was made whose answer is lost

	p     *workflow.Progress // as last read or saved
	etag  string
	epoch int // of our lease

	saved time.Time          // when p was, by this session
	done  []stage            // what came of the calls since then
	now   *workflow.Progress // p with done, until a save is due: what is called next depends on it
}

// stage is what came of calls that were made side by side.
type stage struct {
	results []workflow.Finished
	at      time.Time
}

// holds begins anew with a document that the session has the lease of.
func (s *session) holds(p *workflow.Progress, etag string) {
	s.p, s.etag, s.epoch = p, etag, p.Lease.Epoch
	s.saved, s.done, s.now = s.r.Now(), nil, p
}

// errLeaseLost is returned by save when another has the transaction.
var errLeaseLost = errors.New("lease lost")

// run works as long as it holds the lease: call what is in flight, save what
// came of it together with what is in flight next.
func (s *session) run(ctx context.Context) error {
	for s.p.Lease.Runner == s.id {
		s.done = append(s.done, stage{s.callAll(ctx), s.r.Now()})
		if s.goesOn(ctx) {
			continue
		}
		err := s.save(ctx)
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

// goesOn reports whether the next stage can be called without a save: it is marked,
// all has gone well, and nothing that was not saved is needed to call it once more
// after a crash. Clients see the progress, and are heard, at a save: so one is never
// far away.
func (s *session) goesOn(ctx context.Context) bool {
	last := s.done[len(s.done)-1]
	if s.p.State != workflow.Running || last.at.Sub(s.saved) >= s.r.Budgets.SaveEvery || s.impatient(last.at) {
		return false
	}
	next := s.now // where a stage went on before it is this session's own
	if next == s.p {
		next = s.p.Clone()
	}
	if err := s.w.Record(next, last.results, s.r.Budgets.Backoff(s.jitter), s.turn(last.at, last.at, false)); err != nil {
		return false // the save says so
	}
	for _, f := range last.results {
		if f.Attempts != 1 || next.Step(f.Step).State != workflow.StepSucceeded {
			return false
		}
	}
	ready := s.r.Definition.InFlight(next)
	if len(ready) == 0 || s.usesUnstable(ready) || ctx.Err() != nil || s.longest(ready) > s.deadline.Sub(last.at) {
		return false
	}
	s.now = next
	return true
}

// usesUnstable reports whether a step's call is made of a result that is not saved,
// and may be another one when it is asked for again.
func (s *session) usesUnstable(steps []string) bool {
	for _, name := range steps {
		for _, used := range s.r.Definition.Step(name).Uses {
			if !s.r.Definition.Step(used).Stable && s.p.Step(used).State != workflow.StepSucceeded {
				return true
			}
		}
	}
	return false
}

// conclude is the change that ends the stages that were called since the last save,
// and begins the next.
func (s *session) conclude(ctx context.Context, p *workflow.Progress, now time.Time) error {
	for _, done := range s.done {
		if err := s.w.Record(p, done.results, s.r.Budgets.Backoff(s.jitter), s.turn(done.at, done.at, true)); err != nil {
			return err
		}
	}
	if err := s.advance(ctx, p, now); err != nil {
		return err
	}
	if s.w.Acts(p.State) && len(p.Marked()) > 0 {
		p.Renew(s.id, now.Add(s.r.Budgets.Lease), LeaseMargin)
	} else {
		p.Release(s.r.Definition.NextAt(p, now))
	}
	return nil
}

func (s *session) turn(now, due time.Time, start bool) workflow.Turn {
	return workflow.Turn{Now: now, Due: due, Start: start, Ahead: s.r.Budgets.SaveEvery > 0, Limits: s.r.Budgets.Limits()}
}

// advance begins the next stage if its longest call would end in time. Where any call
// of the definition would, which stage that is makes no difference.
func (s *session) advance(ctx context.Context, p *workflow.Progress, now time.Time) error {
	start := s.turn(now, now, true)
	room := s.deadline.Sub(now)
	switch {
	case ctx.Err() != nil || s.impatient(now):
		return s.w.Advance(p, s.turn(now, now, false))
	case s.r.longest <= room:
		return s.w.Advance(p, start)
	}
	tried := p.Clone()
	if err := s.w.Advance(tried, start); err != nil {
		return err
	}
	if s.longest(s.r.Definition.InFlight(tried)) <= room {
		*p = *tried
		return nil
	}
	return s.w.Advance(p, s.turn(now, now, false))
}

// impatient reports whether the time is over in which the session may begin anything.
func (s *session) impatient(now time.Time) bool {
	return !s.patience.IsZero() && !now.Before(s.patience)
}

// longest returns the longest time that a call of the steps may take.
func (s *session) longest(steps []string) time.Duration {
	longest := time.Duration(0)
	for _, name := range steps {
		longest = max(longest, s.r.callTimeout(s.r.Definition.Step(name)))
	}
	return longest
}

func (s *session) callAll(ctx context.Context) []workflow.Finished {
	names := s.r.Definition.InFlight(s.now)
	// The business makes its calls here, where a panic ends the invocation alone.
	attempts := make([]Attempt, len(names))
	for i, name := range names {
		attempts[i] = s.attemptAt(name)
	}
	results := make([]workflow.Finished, len(names))
	var wg sync.WaitGroup
	last := len(names) - 1 // most stages have one step: it needs no goroutine of its own
	for i, name := range names {
		if i < last {
			wg.Go(func() { results[i] = s.attempt(ctx, name, attempts[i]) })
		} else {
			results[i] = s.attempt(ctx, name, attempts[i])
		}
	}
	wg.Wait()
	return results
}

// attemptAt returns the first attempt at a step in flight. The document counts it
// since the step was marked.
func (s *session) attemptAt(step string) Attempt {
	p := s.now.Step(step)
	a := Attempt{
		TransactionID: s.p.ID, OperationID: s.p.Serving(), Revision: s.p.Revision, Call: s.w.Call(s.now, step),
		Step: step, Number: p.Attempts, Timeout: s.r.callTimeout(s.r.Definition.Step(step)),
	}
	if p.State == workflow.StepUndoing {
		a.Undo, a.Number = true, p.UndoAttempts
	}
	return a
}

// save applies what was done to the document and writes it, on whatever base it
// takes, until it is written or the lease is lost. Conflicts with others' wishes
// don't count as tries: however many come in, the lease's holder gets on. The error
// of a write whose fate could not be learnt leaves the lease to run out.
func (s *session) save(ctx context.Context) error {
	id := s.p.ID
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	for try := 1; ; {
		next := s.p.Clone()
		if err := s.conclude(ctx, next, s.r.Now()); err != nil {
			return fmt.Errorf("save transaction %s: %w", id, err)
		}
		before := s.p.State
		etag, err := s.r.Store.Replace(saving, next, s.etag)
		if err == nil {
			s.holds(next, etag)
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
			s.holds(s.p, s.etag)
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
