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

// MaxOperations is how many operations of one kind a transaction takes: they all
// stay on record in one document, and each is a save that the others wait for.
const MaxOperations = 50

// MaxChangeBytes is how many bytes the changes of a transaction may have in all,
// those that are done with included: see Progress.Refuses.
const MaxChangeBytes = 512 << 10

// NotYours is what is said of a transaction to those whose it isn't. It gives
// nothing away: not even that there is one.
const NotYours = "you have no such transaction"

// Refuses tells why the document doesn't take the operation, "" if it does: it is
// foreign, or there is no room, since a document has a largest size, and one that
// can't be saved any more could be neither completed nor undone. There is always
// room for the first of a kind. Room that is used up stays so, but for what
// settleOwner gives back.
func (p *Progress) Refuses(op Operation) (reason string) {
	if p.Foreign(op) {
		return NotYours
	}
	had, bytes := 0, 0
	for _, o := range p.Operations {
		if o.Kind == op.Kind {
			had++
		}
		bytes += o.Bytes
	}
	switch {
	case had >= MaxOperations:
		return fmt.Sprintf("a transaction takes at most %d operations of the kind %s", MaxOperations, op.Kind)
	case op.Kind == OperationReschedule && bytes+len(op.Body) > MaxChangeBytes:
		return fmt.Sprintf("a transaction takes at most %d bytes of changes", MaxChangeBytes)
	}
	return ""
}

// Receive puts an operation on record as Pending and reports whether it did: a
// repeat changes nothing, nor does one that the document refuses. That one, and
// what settleOwner takes out of the document, is to be on record outside: whoever
// saves the document, or is done with the operation, stores that first.
// Operations are kept in the order of their ids, the start first, whatever the
// order in which they arrive. Anyone may receive an operation under the
// document's ETag; only the holder of the lease acts on it.
func (p *Progress) Receive(op Operation) (fresh bool, outside []OutsideOperation) {
	if p.Operation(op.ID) != nil {
		return false, nil
	}
	if reason := p.Refuses(op); reason != "" {
		return false, []OutsideOperation{p.refused(op, reason)}
	}
	record := OperationRecord{
		ID: op.ID, Kind: op.Kind, State: OperationPending, AcceptedAt: At(op.AcceptedAt), Hash: Hash(op.Kind, p.ID, op.Body),
	}
	if op.Kind == OperationReschedule {
		record.Change, record.Bytes = op.Body, len(op.Body)
	}
	if p.AcceptedAt.IsZero() {
		p.AcceptedAt, p.TraceParent = At(op.AcceptedAt), op.TraceParent
	}
	switch _, known := p.Owner(); {
	case op.Kind == OperationStart:
		outside = p.receiveStart(op, &record)
	case !known:
		record.Caller = op.Caller
	}
	p.Operations = append(p.Operations, record)
	slices.SortStableFunc(p.Operations, func(a, b OperationRecord) int {
		if (a.Kind == OperationStart) != (b.Kind == OperationStart) {
			if a.Kind == OperationStart {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return true, outside
}

func (p *Progress) receiveStart(op Operation, record *OperationRecord) []OutsideOperation {
	if p.starting() != nil {
		record.end(OperationRefused, "the transaction was started before", op.AcceptedAt)
		return nil
	}
	p.Caller = op.Caller
	outside := p.settleOwner()
	if p.State == Accepted || p.State == Stuck && p.Request == nil {
		p.Request = op.Body
		if len(op.Body) == 0 {
			p.Request = json.RawMessage("null")
		}
		p.AcceptedAt, p.TraceParent = At(op.AcceptedAt), op.TraceParent
	}
	return outside
}

// starting returns the operation that starts the transaction, nil before it is here.
func (p *Progress) starting() *OperationRecord {
	for i := range p.Operations {
		if p.Operations[i].Kind == OperationStart {
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

// cancelling returns the cancel for which the transaction is being undone, nil if
// none.
func (p *Progress) cancelling() *OperationRecord {
	for i := range p.Operations {
		op := &p.Operations[i]
		if op.Kind == OperationCancel && op.State == OperationPending && op.Revision > 0 {
			return op
		}
	}
	return nil
}

// Serving returns the OperationID on whose behalf calls are made now: the
// cancel or the reschedule that was taken up, otherwise the start.
func (p *Progress) Serving() string {
	if cancel := p.cancelling(); cancel != nil {
		return cancel.ID
	}
	id := ""
	for _, op := range p.Operations {
		if op.Kind == OperationStart && id == "" || op.State == OperationPending && op.Revision > 0 {
			id = op.ID
		}
	}
	return id
}

// end gives the operation its final state. A change that is done with is
// dropped: the request holds it, or it does not matter.
func (op *OperationRecord) end(state OperationState, reason string, now time.Time) {
	op.State, op.Reason, op.EndedAt, op.Change = state, short(reason), At(now), nil
}

// applyOperations takes up the operations that wait: cancels first, since they
// make reschedules pointless, then reschedules in the order of their ids, one
// at a time.
func (d *Definition) applyOperations(p *Progress, t Turn) error {
	for _, kind := range []OperationKind{OperationCancel, OperationReschedule, OperationStart} {
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
	if reason := p.refusal(op.Kind); reason != "" {
		op.end(OperationRefused, reason, t.Now)
		return nil
	}
	if p.State == Stuck {
		return nil // it waits for an operator
	}
	switch op.Kind {
	case OperationCancel:
		return d.cancel(p, op, t)
	case OperationReschedule:
		return d.reschedule(p, op, t)
	}
	return nil // the start ends with its run
}

// refusal tells why the state of the transaction leaves no room for an
// operation. A cancel may be refused as long as it is being undone for: what it
// would supersede waits for its end, the start and the reschedules. What is
// Stuck and not being undone goes on with its run when an operator retries it, and
// does then what its client has asked for meanwhile.
func (p *Progress) refusal(kind OperationKind) string {
	switch {
	case p.State.Final() && p.State != Completed:
		return "the transaction is " + string(p.State)
	case p.State != Compensating && p.State != Stuck:
		return ""
	case p.Cause == "":
		return ""
	case p.Cause == CauseCancelled && (kind == OperationStart || kind == OperationReschedule && p.State == Compensating):
		return ""
	}
	return "the transaction is already being undone"
}

const tooLate = "it is too late: the transaction was completed and can no longer be changed"

// wasCompleted reports whether the transaction has been Completed before, so
// that what runs now is a change.
func (p *Progress) wasCompleted() bool {
	start := p.starting()
	return start != nil && start.State == OperationApplied
}

// tooLate reports whether a transaction that was completed once has passed the
// time until which it may be changed.
func (d *Definition) tooLate(p *Progress, now time.Time) bool {
	return p.wasCompleted() && !now.Before(d.LastChange(p))
}

func (d *Definition) cancel(p *Progress, op *OperationRecord, t Turn) error {
	if p.waitsForOwner(op) {
		return nil
	}
	if d.tooLate(p, t.Now) {
		op.end(OperationRefused, tooLate, t.Now)
		return nil
	}
	op.Revision = p.Revision
	if p.State == Completed || d.HasEffects(p) {
		return p.Compensate(CauseCancelled, "cancelled by its client", t.Now)
	}
	p.endCancelled(op, t.Now)
	return p.Cancel(t.Now, t.Limits)
}

// endCancelled ends the operations of a transaction that is cancelled: only now
// is it certain that the others have no more effect.
func (p *Progress) endCancelled(cancel *OperationRecord, now time.Time) {
	for i := range p.Operations {
		if other := &p.Operations[i]; other.Kind != OperationCancel && other.State == OperationPending {
			other.end(OperationSuperseded, "cancelled by operation "+cancel.ID, now)
		}
	}
	cancel.end(OperationApplied, "", now)
}

func (d *Definition) reschedule(p *Progress, op *OperationRecord, t Turn) error {
	if p.State != Running && p.State != Completed || p.changing() != nil || p.firstIn(StepRejected) != nil || d.redoing(p) {
		return nil // it waits for its start, for the end of a cancel, for the one before it, for the decision on a rejection, for the putting back
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
