package workflow

import "slices"

// Owns reports whether what belongs to owner is the caller's. What was accepted
// while callers were not known belongs to nobody, and so to everyone who knows
// its id.
func Owns(owner, caller string) bool { return owner == "" || owner == caller }

// Owner returns whose transaction it is: the caller of its start. It is not
// known before the start is here.
func (p *Progress) Owner() (caller string, known bool) {
	return p.Caller, p.starting() != nil
}

// SeenBy reports whether the transaction may be shown to a caller: to its owner,
// and before that is known to those who asked something of it.
func (p *Progress) SeenBy(caller string) bool {
	if owner, known := p.Owner(); known {
		return Owns(owner, caller)
	}
	return slices.ContainsFunc(p.Operations, func(op OperationRecord) bool { return Owns(op.Caller, caller) })
}

// Foreign reports whether an operation was asked for by another than the
// transaction's owner. Such a one is refused, outside of the document: to whoever
// asked, there is no such transaction.
func (p *Progress) Foreign(op Operation) bool {
	owner, known := p.Owner()
	return known && !Owns(owner, op.Caller)
}

// settleOwner keeps of the operations that came before the start those of the
// start's caller, and returns the others. They never took effect: see
// waitsForOwner.
func (p *Progress) settleOwner() (outside []OutsideOperation) {
	var kept []OperationRecord
	for _, op := range p.Operations {
		if !Owns(p.Caller, op.Caller) {
			outside = append(outside, p.foreign(op))
			continue
		}
		op.Caller = ""
		kept = append(kept, op)
	}
	p.Operations = kept
	return outside
}

// waitsForOwner reports whether it is not known yet if the operation's caller
// may ask for it.
func (p *Progress) waitsForOwner(op *OperationRecord) bool {
	_, known := p.Owner()
	return !known && op.Caller != ""
}
