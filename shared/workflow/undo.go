package workflow

import (
	"fmt"
	"slices"
	"time"
)

// HasEffects reports whether anything may have to be undone: a step that has
// an undo and whose effect is not no. A step without an undo has, by its
// definition, no effect worth undoing, whatever its calls answered; of a step
// that the definition has no more, nobody knows.
func (d *Definition) HasEffects(p *Progress) bool {
	for i := range p.Steps {
		if d.needsUndo(&p.Steps[i]) {
			return true
		}
	}
	return false
}

func (d *Definition) needsUndo(s *StepProgress) bool {
	if def := d.Step(s.Name); def != nil && def.Undo == nil || s.State == StepUndone {
		return false
	}
	return s.Effect != EffectNo || s.State == StepStarted || s.State == StepUndoing
}

// Unwind takes a Compensating transaction as far as it gets without a call: it
// ends the undoing when nothing is left to undo, and marks Undoing the steps
// that are to be undone now. The same rules as for Advance hold.
func (d *Definition) Unwind(p *Progress, t Turn) error {
	d.align(p)
	if err := d.applyOperations(p, t); err != nil {
		return err
	}
	if p.State != Compensating {
		return nil
	}
	if !d.HasEffects(p) {
		if cancel := p.cancelling(); cancel != nil {
			p.endCancelled(cancel, t.Now)
		}
		for i := range p.Operations {
			if op := &p.Operations[i]; op.State == OperationPending {
				op.end(OperationRefused, p.Reason, t.Now)
			}
		}
		return p.EndUndo(t.Now, t.Limits)
	}
	if name := d.unknownLeft(p); name != "" {
		return p.Stick("step "+name+" has an effect, and this version does not know how to undo it", t.Now, t.Limits)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.State == StepUndoing && s.NotBefore.IsZero() {
			s.NotBefore = At(t.Now) // its runner is gone: it waits again
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if !t.Start || !d.undoReady(p, s) || t.Due.Before(s.NotBefore.Time) {
			continue
		}
		if s.State != StepUndoing {
			s.Before, s.State = s.State, StepUndoing
		}
		s.UndoAttempts++
		s.NotBefore = Instant{}
	}
	return nil
}

// unknownLeft returns the name of a step of another version of the definition
// that needs an undo, when no other step does.
func (d *Definition) unknownLeft(p *Progress) string {
	left := ""
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case !d.needsUndo(s):
		case d.Step(s.Name) != nil:
			return ""
		default:
			left = s.Name
		}
	}
	return left
}

// undoReady reports whether nothing but its NotBefore keeps the step from being
// undone: it needs it, and no step that is to be undone before it does any more.
func (d *Definition) undoReady(p *Progress, s *StepProgress) bool {
	if !d.needsUndo(s) || d.Step(s.Name) == nil {
		return false
	}
	return !slices.ContainsFunc(p.Steps, func(other StepProgress) bool {
		return other.Name != s.Name && d.needsUndo(&other) && d.undoneBefore(other.Name, s.Name)
	})
}

// undoneBefore reports whether a step is undone before another: a pivot before all
// that are none, and otherwise in reverse order.
func (d *Definition) undoneBefore(name, other string) bool {
	if a, b := d.isPivot(name), d.isPivot(other); a != b {
		return a
	}
	return slices.Contains(d.ancestors(name), other)
}

func (d *Definition) isPivot(name string) bool {
	def := d.Step(name)
	return def != nil && def.Pivot
}

// goOn takes back a cancel that a pivot refuses, since what it would undo has
// happened: the cancel is Refused with the service's text, and the run goes on
// with the pivot as it was. It reports whether that is possible: the client alone
// is the cause, and no undo of another step was tried.
func (d *Definition) goOn(p *Progress, pivot *StepProgress, l Limits, now time.Time) (bool, error) {
	tried := func(s StepProgress) bool { return s.Name != pivot.Name && s.UndoAttempts > 0 }
	cancel := p.cancelling()
	if p.Cause != CauseCancelled || cancel == nil || slices.ContainsFunc(p.Steps, tried) {
		return false, nil
	}
	reason := fmt.Sprintf("%s can't be undone: %s", pivot.Name, pivot.UndoError.Told())
	cancel.end(OperationRefused, reason, now)
	pivot.State, pivot.Before = pivot.Before, ""
	if pivot.State == "" || pivot.State == StepStarted {
		pivot.State = StepPending
	}
	pivot.NotBefore, pivot.UndoLaters = Instant{}, 0
	return true, p.Resume(reason, now, l.CompleteBy)
}
