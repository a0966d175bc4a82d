package workflow

// OutsideOperation is the record of an operation outside of its transaction's
// document: one that the document can't hold, or no longer holds, and one of a
// caller's whose transaction it isn't. It has ended, and never changes. Its
// document lies beside the requests, and has their fields.
type OutsideOperation struct {
	ID            string         `json:"id"` // see OutsideID
	TransactionID string         `json:"transactionId"`
	OperationID   string         `json:"operationId"`
	Operation     OperationKind  `json:"operation"`
	Hash          string         `json:"hash"` // of the content, see Hash
	Caller        string         `json:"caller,omitempty"`
	AcceptedAt    Instant        `json:"acceptedAt"`
	State         OperationState `json:"state"`  // Refused, but for what had ended otherwise in the document
	Reason        string         `json:"reason"` // gives nothing away of a transaction that isn't the caller's
	// EndedAt and TTL, the seconds that the document lives, are set when it is
	// stored.
	EndedAt Instant `json:"endedAt"`
	TTL     int     `json:"ttl"`
}

// OutsidePrefix begins the id of every OutsideOperation. It has a sign that is
// part of no id of a client's and of none that the system mints, so that no
// request's id begins with it.
const OutsidePrefix = "operation:"

// OutsideID returns the id of an operation's record outside.
func OutsideID(operationID string) string { return OutsidePrefix + operationID }

// refused returns the record of an operation that the document doesn't take.
// When it ended and how long it is kept is for whoever stores it.
func (p *Progress) refused(op Operation, reason string) OutsideOperation {
	return OutsideOperation{
		ID: OutsideID(op.ID), TransactionID: p.ID, OperationID: op.ID, Operation: op.Kind, Hash: Hash(op.Kind, p.ID, op.Body),
		Caller: op.Caller, AcceptedAt: At(op.AcceptedAt), State: OperationRefused, Reason: reason,
	}
}

// foreign returns the record of an operation that was in the document before it
// was known whose that is. One that has ended there keeps its end.
func (p *Progress) foreign(op OperationRecord) OutsideOperation {
	o := OutsideOperation{
		ID: OutsideID(op.ID), TransactionID: p.ID, OperationID: op.ID, Operation: op.Kind, Hash: op.Hash,
		Caller: op.Caller, AcceptedAt: op.AcceptedAt, State: op.State, Reason: op.Reason, EndedAt: op.EndedAt,
	}
	if op.State == OperationPending {
		o.State, o.Reason = OperationRefused, NotYours
	}
	return o
}
