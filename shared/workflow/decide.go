package workflow

import (
	"slices"
	"time"
)

// Limits are the budgets that decisions depend on.
type Limits struct {
	CompleteBy   time.Duration // from the start of a run to its expiry
	DocumentTTL  time.Duration // that a final transaction is kept
	UndoAttempts int           // wakes in which a service may fail at an undo before Stuck
	Notify       bool          // somebody wants to be told when a transaction comes to rest
}

// Turn is one moment of decision.
type Turn struct {
	Now time.Time
	// Due is up to when waiting steps and time limits count as due: Now, or
	// the time of the wake that is acted on when that is later, since a wake
	// that has come is due whatever this machine's clock says.
	Due time.Time
	// Start permits new calls: the runner has time left to make them.
	Start bool
	// Ahead lets the first run mark all its steps at once: see start.
	Ahead  bool
	Limits Limits
}

// New returns the document of a transaction of which nothing is known yet but
// its id. It is Accepted and waits for its start.
func (d *Definition) New(id string, now time.Time, limits Limits) *Progress {
	p := &Progress{
		ID: id, Schema: Schema, State: Accepted, Revision: 1,
		CompleteBy: At(now.Add(limits.CompleteBy)),
		Steps:      []StepProgress{}, Operations: []OperationRecord{},
	}
	d.align(p)
	return p
}

// Advance takes an Accepted, Running or Completed transaction as far as it
// gets without a call: it applies operations, completes, rejects or hands over
// to undoing, and marks Started the steps that are to be called now, or soon
// (see InFlight). It must not be called while a call is on its way, nor by
// anyone but the holder of the lease.
func (d *Definition) Advance(p *Progress, t Turn) error {
	d.align(p)
	if p.State == Running {
		p.takeBack()
	}
	for {
		if err := d.applyOperations(p, t); err != nil {
			return err
		}
		switch p.State {
		case Accepted:
			again, err := d.begin(p, t)
			if err != nil || !again {
				return err
			}
		case Running:
			again, err := d.advanceRun(p, t)
			if err != nil || !again {
				return err
			}
		default:
			return nil
		}
	}
}

// begin starts a transaction whose start is here, and rejects one whose
// start has never come.
func (d *Definition) begin(p *Progress, t Turn) (again bool, err error) {
	if p.Request != nil {
		return true, p.Start(t.Now, t.Limits.CompleteBy)
	}
	if t.Due.Before(p.CompleteBy.Time) {
		return false, nil
	}
	return true, p.Reject(CauseExpired, "the request that starts it never arrived", t.Now, t.Limits)
}

// advanceRun decides on a Running transaction. The order matters: a rejection
// counts before everything, and a run that has succeeded has not expired.
func (d *Definition) advanceRun(p *Progress, t Turn) (again bool, err error) {
	if s := p.firstIn(StepRejected); s != nil {
		reason := s.Name + ": " + s.Error.Message
		if op := p.changing(); op != nil {
			d.putBack(p, op, reason, t)
			return true, nil
		}
		if p.wasCompleted() {
			return true, d.leaveCompleted(p, t)
		}
		return true, d.fail(p, CauseFailed, reason, t)
	}
	if d.succeeded(p) {
		for i := range p.Operations {
			op := &p.Operations[i]
			if op.State == OperationPending && (op.Kind == OperationStart || op.Revision > 0) {
				op.end(OperationApplied, "", t.Now)
			}
		}
		return true, d.complete(p, t)
	}
	if !t.Due.Before(p.CompleteBy.Time) {
		reason := "not completed by " + p.CompleteBy.String()
		switch op := p.changing(); {
		case !p.wasCompleted():
			return true, d.fail(p, CauseExpired, reason, t)
		case op != nil:
			d.putBack(p, op, reason, t) // what was completed is not undone for a change
		default: // nor for a change that is being taken back
			return true, p.Extend(reason, t.Now, t.Due.Add(t.Limits.CompleteBy))
		}
		return true, nil
	}
	if t.Start {
		d.start(p, t)
	}
	return false, nil
}

// complete ends a run in which all steps have succeeded. The document has to be
// there for as long as its client can change the transaction.
func (d *Definition) complete(p *Progress, t Turn) error {
	limits := t.Limits
	limits.DocumentTTL += d.changeableFor(p, t.Now)
	return p.Complete(d.leftAsItWas(p), t.Now, limits)
}

// fail ends a run: Rejected when no step has an effect to undo, which holds for
// an expired run as well, otherwise Compensating.
func (d *Definition) fail(p *Progress, cause Cause, reason string, t Turn) error {
	for i := range p.Operations {
		op := &p.Operations[i]
		if op.State == OperationPending && (op.Kind == OperationStart || op.Revision > 0) {
			op.end(OperationRefused, reason, t.Now)
		}
	}
	if d.HasEffects(p) {
		return p.Compensate(cause, reason, t.Now)
	}
	return p.Reject(cause, reason, t.Now, t.Limits)
}

// start marks the steps that are due: one save marks a whole stage, and in a run
// of which nothing is known yet all stages. So such a run needs no save between
// them as long as all goes well (ADR 28).
func (d *Definition) start(p *Progress, t Turn) {
	ahead := t.Ahead && p.untried(t.Due)
	for i := range p.Steps {
		s := &p.Steps[i]
		now := d.ready(p, s)
		if !now && !(ahead && d.Step(s.Name) != nil) || t.Due.Before(s.NotBefore.Time) {
			continue
		}
		s.State = StepStarted
		s.Attempts++
		s.Tried = p.Revision
		s.NotBefore = Instant{}
		if now && s.StartedAt.IsZero() {
			s.StartedAt = At(t.Now)
		}
	}
}

// untried reports whether no step can have had an effect, and all may be called. A
// changed transaction, such as one whose wish was there before its start, is another
// matter: the services may hold what an earlier revision asked for.
func (p *Progress) untried(due time.Time) bool {
	return p.Revision == 1 && !slices.ContainsFunc(p.Steps, func(s StepProgress) bool {
		return s.State != StepPending || s.Effect != EffectNo || due.Before(s.NotBefore.Time)
	})
}

// takeBack makes Pending again what was marked and not called. It comes before any
// decision: a step counts as one with an effect as long as it is Started.
func (p *Progress) takeBack() {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.State != StepStarted {
			continue
		}
		s.State = StepPending
		if s.Attempts--; s.Attempts == 0 {
			s.Tried = 0
		}
	}
}

// ready reports whether nothing but its NotBefore keeps the step from being
// called.
func (d *Definition) ready(p *Progress, s *StepProgress) bool {
	return d.Step(s.Name) != nil && s.State == StepPending && d.preceded(p, s.Name)
}

// preceded reports whether all that the step comes after have succeeded.
func (d *Definition) preceded(p *Progress, name string) bool {
	for _, name := range d.ancestors(name) { // not only the direct ones: any of them may be redone
		if p.Step(name).State != StepSucceeded {
			return false
		}
	}
	return true
}

func (d *Definition) succeeded(p *Progress) bool {
	for _, s := range d.Steps {
		if p.Step(s.Name).State != StepSucceeded {
			return false
		}
	}
	return true
}

func (p *Progress) firstIn(state StepState) *StepProgress {
	for i := range p.Steps {
		if p.Steps[i].State == state {
			return &p.Steps[i]
		}
	}
	return nil
}

// Marked returns the names of the steps whose call, or undo, may be on its way.
func (p *Progress) Marked() []string {
	var names []string
	for _, s := range p.Steps {
		if s.State == StepStarted || s.State == StepUndoing && s.NotBefore.IsZero() {
			names = append(names, s.Name)
		}
	}
	return names
}

// InFlight returns those of the marked steps that the holder of the lease calls
// now. The others wait for a step that they come after.
func (d *Definition) InFlight(p *Progress) []string {
	return slices.DeleteFunc(p.Marked(), func(name string) bool {
		return p.Step(name).State == StepStarted && !d.preceded(p, name)
	})
}

// NextAt returns when an open transaction that makes no call now is to be
// looked at again: at once when it is another function's turn or something is
// due, otherwise at the earliest NotBefore or the time limit.
func (d *Definition) NextAt(p *Progress, now time.Time) time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	switch p.State {
	case Accepted:
		sooner(p.CompleteBy.Time)
	case Running:
		if d.succeeded(p) || p.firstIn(StepRejected) != nil {
			return now // it ends, or is undone
		}
		sooner(p.CompleteBy.Time)
		for i := range p.Steps {
			if d.ready(p, &p.Steps[i]) {
				sooner(p.Steps[i].NotBefore.Time)
			}
		}
	case Compensating:
		for i := range p.Steps {
			if d.undoReady(p, &p.Steps[i]) {
				sooner(p.Steps[i].NotBefore.Time)
			}
		}
	}
	if next.Before(now) {
		return now
	}
	return next
}
