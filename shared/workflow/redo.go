package workflow

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// passOn makes the steps due whose calls were made of the step's former result.
func (d *Definition) passOn(p *Progress, name string) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.State == StepSucceeded && slices.Contains(d.ancestors(s.Name), name) {
			s.again()
		}
	}
}

// SameJSON reports whether two values say the same: a store may write them in
// a form of its own.
func SameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// putBack goes back to the request before the reschedule, which a service
// rejected or which expired: as a revision of its own, since the services have
// seen the other one, and with time of its own if the transaction was completed.
func (d *Definition) putBack(p *Progress, op *OperationRecord, reason string, t Turn) {
	rejected := op.Revision
	changed := d.changed(p)
	p.Request, p.Previous = p.Previous, nil
	p.Revision++
	if p.wasCompleted() {
		p.CompleteBy = At(t.Now.Add(t.Limits.CompleteBy))
		p.Laters = 0
	}
	op.end(OperationRefused, reason, t.Now)
	for _, s := range changed {
		if d.untouched(p, s, rejected) {
			s.State = StepSucceeded
		} else {
			s.again()
		}
	}
	for i := range p.Steps {
		if p.Steps[i].State == StepRejected {
			p.Steps[i].again()
		}
	}
}

// leaveCompleted ends a putting back that a service refuses. What was completed is
// not undone for it: the transaction is Completed as it stands, its steps with
// the last results that they had, and the refusal stays to be seen, in the step's
// error and in the transaction's reason.
func (d *Definition) leaveCompleted(p *Progress, t Turn) error {
	for _, def := range d.Steps {
		s := p.Step(def.Name)
		if s.State != StepRejected {
			s.Error = nil
		}
		s.State, s.NotBefore = StepSucceeded, Instant{}
	}
	return d.complete(p, t)
}

// leftAsItWas tells of the putting back that was refused, "" if the transaction
// stands as its client has asked for: the step's error stays until it is called
// again, whatever is asked for, and refused, in between.
func (d *Definition) leftAsItWas(p *Progress) string {
	for _, def := range d.Steps {
		if s := p.Step(def.Name); s.State == StepSucceeded && s.Error != nil {
			return "left as it was, since a service refused to put it back: " + s.Name + ": " + s.Error.Message
		}
	}
	return ""
}

// untouched reports whether the step stands as it stood before the rejected
// revision: it was not called for it, and nor has a step before it a result of
// it.
func (d *Definition) untouched(p *Progress, s *StepProgress, rejected int) bool {
	for _, name := range d.ancestors(s.Name) {
		if p.Step(name).Revision == rejected {
			return false
		}
	}
	return s.Revision > 0 && s.Tried < rejected
}
