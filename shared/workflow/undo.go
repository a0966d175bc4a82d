package workflow

import "slices"

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
		for i := range p.Operations {
			switch op := &p.Operations[i]; {
			case op.State != OperationPending:
			case op.Kind == OperationCancel && p.Cause == CauseCancelled:
				op.end(OperationApplied, "", t.Now)
			default:
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
		s.State = StepUndoing
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
// undone: it needs it, and no step that comes after it does any more.
func (d *Definition) undoReady(p *Progress, s *StepProgress) bool {
	if !d.needsUndo(s) || d.Step(s.Name) == nil {
		return false
	}
	for i := range p.Steps {
		later := &p.Steps[i]
		if d.needsUndo(later) && slices.Contains(d.ancestors(later.Name), s.Name) {
			return false
		}
	}
	return true
}
