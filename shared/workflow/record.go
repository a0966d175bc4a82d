package workflow

import (
	"fmt"
	"time"
)

// Finished is what became of one step in flight: the attempts that were made
// in place, seen as one.
type Finished struct {
	Step     string
	Began    time.Time // the first attempt
	Attempts int       // 0 when there was no time left to call at all
	Effect   Effect    // the highest over the attempts
	Outcome  Outcome   // of the last attempt
}

// Add counts one more attempt.
func (f *Finished) Add(o Outcome) {
	f.Attempts++
	f.Effect = max(f.Effect, o.Effect)
	f.Outcome = o
}

// wasSent reports whether any of the attempts has reached the service.
func (f *Finished) wasSent() bool { return f.Effect != EffectNo || f.Outcome.Status != 0 }

// Record writes the results of a stage's calls. Every step in flight must be
// among them.
func (d *Definition) Record(p *Progress, results []Finished, b Backoff, now time.Time) {
	delay := p.countLater(results, b)
	for _, f := range results {
		s := p.Step(f.Step)
		s.Attempts += f.Attempts - 1 // the first was counted when it was Started
		if f.Attempts == 0 {
			s.State = StepPending
			continue
		}
		if s.StartedAt.IsZero() {
			s.StartedAt = At(f.Began)
		}
		s.Effect = max(s.Effect, f.Effect)
		s.EndedAt = At(now)
		switch o := f.Outcome; o.Retry {
		case RetryNone:
			d.succeed(p, s, o, now)
		case RetryNever:
			s.State = StepRejected
			s.Error = stepError(o, now)
		default:
			s.State = StepPending
			s.Error = stepError(o, now)
			s.NotBefore = At(now.Add(b.wait(o, delay)))
		}
	}
}

func (d *Definition) succeed(p *Progress, s *StepProgress, o Outcome, now time.Time) {
	if accept := d.Step(s.Name).Accept; accept != nil {
		if err := accept(o.Result); err != nil {
			s.State = StepRejected
			s.Error = &StepError{Status: o.Status, Type: notAccepted, Message: short(err.Error()), At: At(now)}
			return
		}
	}
	if s.Revision > 0 && !SameJSON(s.Result, o.Result) {
		d.passOn(p, s.Name)
	}
	s.State = StepSucceeded
	s.Revision = p.Revision
	s.Result = o.Result
	s.Error = nil
}

// RecordUndo writes the results of undo calls. A pivot that can't be undone any
// more ends the undoing for a cancel, and the run goes on. Any other refusal of a
// service, or one that has failed at it for too many wakes, leaves the transaction Stuck. An
// undo that was not sent says nothing about itself, however often: it only waits
// until the service can be reached again.
func (d *Definition) RecordUndo(p *Progress, results []Finished, b Backoff, limits Limits, now time.Time) error {
	delay := p.countLater(results, b)
	var stuck string
	var happened *StepProgress
	for _, f := range results {
		s := p.Step(f.Step)
		s.UndoAttempts += f.Attempts - 1
		s.NotBefore = At(now) // no longer on its way
		if f.Attempts == 0 {
			continue
		}
		s.EndedAt = At(now)
		switch o := f.Outcome; o.Retry {
		case RetryNone:
			s.State, s.Before = StepUndone, ""
			s.NotBefore = Instant{}
			s.UndoError = nil
			s.UndoLaters = 0
		case RetryNever:
			s.UndoError = stepError(o, now)
			stuck = fmt.Sprintf("undo of %s refused: %s", s.Name, s.UndoError.Message)
			if o.Type == TypeCannotUndo && d.isPivot(s.Name) {
				happened = s
			}
		default:
			s.UndoError = stepError(o, now)
			if f.wasSent() {
				s.UndoLaters++
			}
			s.NotBefore = At(now.Add(max(delay, b.wait(o, delay))))
			if s.UndoLaters >= limits.UndoAttempts && stuck == "" {
				stuck = fmt.Sprintf("undo of %s failed %d times: %s", s.Name, s.UndoLaters, s.UndoError.Told())
			}
		}
	}
	if happened != nil {
		if ok, err := d.goOn(p, happened, limits, now); ok || err != nil {
			return err
		}
	}
	if stuck != "" {
		return p.Stick(stuck, now, limits)
	}
	return nil
}

// countLater counts a wake that is put off, and returns the delay to the next.
// Attempts whose results are recorded show that messages come through again.
func (p *Progress) countLater(results []Finished, b Backoff) time.Duration {
	later := false
	for _, f := range results {
		if f.Attempts > 0 {
			p.DeadLetters = 0
		}
		switch {
		case f.Attempts == 0:
		case f.Outcome.Retry == RetryLater:
			later = true
		default:
			p.Laters = 0
		}
	}
	if later {
		p.Laters++
	}
	return b.Delay(p.Laters)
}

// Abandoned is called when the lease is taken over from a runner that did not
// give it back: the outcome of what it had on its way is unknown.
func (p *Progress) Abandoned() {
	for i := range p.Steps {
		s := &p.Steps[i]
		switch s.State {
		case StepStarted:
			s.State = StepPending
			s.Effect = max(s.Effect, EffectMaybe)
		case StepUndoing:
			s.Effect = max(s.Effect, EffectMaybe)
		}
	}
}

// notAccepted is the type of an error that the business itself found in an
// answer.
const notAccepted = "not-accepted"

// Told returns the message as clients and receivers of news may read it: what the
// service, or the business, has said. What went wrong on the way to a service has
// names and addresses in it, which are for operators.
func (e *StepError) Told() string {
	if e.Status >= 400 || e.Type == notAccepted {
		return e.Message
	}
	return "the service gave no readable answer"
}

func stepError(o Outcome, now time.Time) *StepError {
	e := &StepError{Status: o.Status, Type: short(o.Type), Message: short(o.Message), At: At(now)}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the service answered %d", o.Status)
	}
	return e
}
