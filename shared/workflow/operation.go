package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operation is what a client asked for, as it arrives.
type Operation struct {
	ID          string // the OperationID
	Kind        OperationKind
	Body        json.RawMessage // the request, or the change
	AcceptedAt  time.Time
	Caller      string // who asked, "" when callers are not known
	TraceParent string
}

// MaxOperations is how many operations are on record, but for the first of each
// kind, which always is: a document has a largest size, and one that can't be
// saved any more could be neither completed nor undone. Who accepts operations
// is to refuse them long before, by what is on record then.
const MaxOperations = 200

// Receive puts an operation on record as Pending and reports whether it did: a
// repeat changes nothing, nor does a foreign one, nor one beyond MaxOperations.
// Operations are kept in the order of their ids, the delivery first, whatever the
// order in which they arrive. Anyone may receive an operation under the
// document's ETag; only the holder of the lease acts on it.
func (p *Progress) Receive(op Operation) bool {
	if p.Operation(op.ID) != nil || p.Foreign(op) {
		return false
	}
	if len(p.Operations) >= MaxOperations && slices.ContainsFunc(p.Operations, func(o OperationRecord) bool { return o.Kind == op.Kind }) {
		return false
	}
	record := OperationRecord{ID: op.ID, Kind: op.Kind, State: OperationPending, AcceptedAt: At(op.AcceptedAt)}
	if op.Kind == OperationReschedule {
		record.Change = op.Body
	}
	if p.AcceptedAt.IsZero() {
		p.AcceptedAt, p.TraceParent = At(op.AcceptedAt), op.TraceParent
	}
	switch _, known := p.Owner(); {
	case op.Kind == OperationDeliver:
		p.deliver(op, &record)
	case !known:
		record.Caller = op.Caller
	}
	p.Operations = append(p.Operations, record)
	slices.SortStableFunc(p.Operations, func(a, b OperationRecord) int {
		if (a.Kind == OperationDeliver) != (b.Kind == OperationDeliver) {
			if a.Kind == OperationDeliver {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return true
}

func (p *Progress) deliver(op Operation, record *OperationRecord) {
	if p.delivery() != nil {
		record.end(OperationRefused, "the transaction has a delivery already", op.AcceptedAt)
		return
	}
	p.Caller = op.Caller
	p.settleOwner()
	if p.State == Accepted {
		p.Request = op.Body
		if len(op.Body) == 0 {
			p.Request = json.RawMessage("null")
		}
		p.AcceptedAt, p.TraceParent = At(op.AcceptedAt), op.TraceParent
	}
}

func (p *Progress) delivery() *OperationRecord {
	for i := range p.Operations {
		if p.Operations[i].Kind == OperationDeliver {
			return &p.Operations[i]
		}
	}
	return nil
}

// changing returns the reschedule that the current run is for, nil if none.
func (p *Progress) changing() *OperationRecord {
	for i := range p.Operations {
		op := &p.Operations[i]
		if op.Kind == OperationReschedule && op.State == OperationPending && op.Revision > 0 {
			return op
		}
	}
	return nil
}

// Serving returns the OperationID on whose behalf calls are made now: the
// cancel or the reschedule that was taken up, otherwise the delivery.
func (p *Progress) Serving() string {
	id := ""
	for _, op := range p.Operations {
		if op.Kind == OperationDeliver && id == "" || op.State == OperationPending && op.Revision > 0 {
			id = op.ID
		}
	}
	return id
}

// end gives the operation its final state. A change that is done with is
// dropped: the request holds it, or it does not matter.
func (op *OperationRecord) end(state OperationState, reason string, now time.Time) {
	op.State, op.Reason, op.EndedAt, op.Change = state, reason, At(now), nil
}

// applyOperations takes up the operations that wait: cancels first, since they
// make reschedules pointless, then reschedules in the order of their ids, one
// at a time.
func (d *Definition) applyOperations(p *Progress, t Turn) error {
	for _, kind := range []OperationKind{OperationCancel, OperationReschedule, OperationDeliver} {
		for i := range p.Operations {
			op := &p.Operations[i]
			if op.Kind != kind || op.State != OperationPending || op.Revision > 0 {
				continue
			}
			if err := d.apply(p, op, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Definition) apply(p *Progress, op *OperationRecord, t Turn) error {
	if reason := p.refusal(); reason != "" {
		op.end(OperationRefused, reason, t.Now)
		return nil
	}
	switch op.Kind {
	case OperationCancel:
		return d.cancel(p, op, t)
	case OperationReschedule:
		return d.reschedule(p, op, t)
	}
	return nil // the delivery ends with its run
}

// refusal tells why the state of the transaction leaves no room for an
// operation.
func (p *Progress) refusal() string {
	switch {
	case p.State == Compensating || p.State == Stuck:
		return "the transaction is already being undone"
	case p.State.Final() && p.State != Completed:
		return "the transaction is " + string(p.State)
	}
	return ""
}

const tooLate = "it is too late: the transaction was completed and can no longer be changed"

// wasCompleted reports whether the transaction has been Completed before, so
// that what runs now is a change.
func (p *Progress) wasCompleted() bool {
	delivery := p.delivery()
	return delivery != nil && delivery.State == OperationApplied
}

// tooLate reports whether a transaction that was completed once has passed the
// time until which it may be changed.
func (d *Definition) tooLate(p *Progress, now time.Time) bool {
	return p.wasCompleted() && !d.changeable(p, now)
}

func (d *Definition) cancel(p *Progress, op *OperationRecord, t Turn) error {
	if p.waitsForOwner(op) {
		return nil
	}
	if d.tooLate(p, t.Now) {
		op.end(OperationRefused, tooLate, t.Now)
		return nil
	}
	for i := range p.Operations {
		other := &p.Operations[i]
		if other.Kind != OperationCancel && other.State == OperationPending {
			other.end(OperationSuperseded, "cancelled by operation "+op.ID, t.Now)
		}
	}
	op.Revision = p.Revision
	if p.State == Completed || d.HasEffects(p) {
		return p.Compensate(CauseCancelled, "cancelled by its client", t.Now)
	}
	op.end(OperationApplied, "", t.Now)
	return p.Cancel(t.Now, t.Limits)
}

func (d *Definition) reschedule(p *Progress, op *OperationRecord, t Turn) error {
	if p.State == Accepted || p.changing() != nil || p.firstIn(StepRejected) != nil || d.redoing(p) {
		return nil // it waits for its delivery, for the one before it, for the decision on a rejection, for the putting back
	}
	for _, other := range p.Operations {
		if other.Kind == OperationReschedule && other.State == OperationApplied && other.ID > op.ID {
			op.end(OperationSuperseded, "operation "+other.ID+" is newer", t.Now)
			return nil
		}
	}
	if d.tooLate(p, t.Now) {
		op.end(OperationRefused, tooLate, t.Now)
		return nil
	}
	if d.Merge == nil {
		op.end(OperationRefused, "this transaction can't be changed", t.Now)
		return nil
	}
	request, err := d.Merge(p.Request, op.Change)
	if err != nil {
		op.end(OperationRefused, err.Error(), t.Now)
		return nil
	}
	if err := p.Change(t.Now, t.Limits.CompleteBy); err != nil {
		return fmt.Errorf("reschedule %s: %w", op.ID, err)
	}
	p.Previous, p.Request = p.Request, request
	p.Revision++
	op.Revision = p.Revision
	for _, s := range d.changed(p) {
		s.again()
	}
	return nil
}

// changed returns the steps that the difference between Previous and Request
// affects.
func (d *Definition) changed(p *Progress) []*StepProgress {
	var steps []*StepProgress
	for _, def := range d.Steps {
		if def.Affected != nil && def.Affected(p.Previous, p.Request) {
			steps = append(steps, p.Step(def.Name))
		}
	}
	return steps
}

// redoing reports whether a step that has succeeded is to be called again.
func (d *Definition) redoing(p *Progress) bool {
	return slices.ContainsFunc(p.Steps, func(s StepProgress) bool {
		return s.Revision > 0 && s.State != StepSucceeded && d.Step(s.Name) != nil
	})
}

// again makes the step due. Its effect stays, since the service has seen it.
func (s *StepProgress) again() {
	s.State = StepPending
	s.NotBefore = Instant{}
}
