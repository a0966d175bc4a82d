package workflow

import (
	"encoding/json"
	"slices"
	"time"
)

// Progress is the stored document of one transaction: everything that is known
// of it. It is a plain value; the functions of this package change it, the
// runner saves it.
//
// The runner that holds the lease owns the steps, the state, the wake fields
// and Saves. Anyone may append to Operations, raise the wake and empty the Outbox
// under the document's ETag, without touching Saves: so a runner whose save is refused
// can tell a wish that came in from the loss of its lease.
type Progress struct {
	ID     string `json:"id"` // the TransactionID
	Schema int    `json:"schema"`
	State  State  `json:"state"`
	Cause  Cause  `json:"cause,omitempty"` // why it is, or was, undone
	Reason string `json:"reason,omitempty"`
	// Caller is the start's, an opaque id: whose transaction it is. Empty
	// when callers are not known; see Owns.
	Caller   string `json:"caller,omitempty"`
	Revision int    `json:"revision"`
	// Request is the current request; Previous is the one to go back to when a
	// reschedule is rejected half way.
	Request  json.RawMessage `json:"request,omitempty"`
	Previous json.RawMessage `json:"previous,omitempty"`

	AcceptedAt Instant `json:"acceptedAt,omitzero"`
	StartedAt  Instant `json:"startedAt,omitzero"`
	CompleteBy Instant `json:"completeBy,omitzero"`
	EndedAt    Instant `json:"endedAt,omitzero"` // of the last final state

	Steps      []StepProgress    `json:"steps"`
	Operations []OperationRecord `json:"operations"`
	// History is what has happened, oldest first. See MaxHistory.
	History []StateChange `json:"history,omitempty"`
	Outbox  Outbox        `json:"outbox,omitzero"`

	Lease Lease `json:"lease,omitzero"`
	// Saves counts the saves of runners. See the type's comment.
	Saves int `json:"saves"`

	// Wake numbers the wakes; WakeAt is when the latest is due. WakeAt is zero
	// in final states and in Stuck.
	Wake      int     `json:"wake"`
	WakeAt    Instant `json:"wakeAt,omitzero"`
	WakeQueue Queue   `json:"wakeQueue,omitempty"`
	// Laters counts the consecutive wakes that brought nothing forward; the
	// delay to the next grows with it.
	Laters int `json:"laters,omitempty"`
	// Sweeps counts the wakes that Sweep has raised since a runner last took
	// the lease.
	Sweeps int `json:"sweeps,omitempty"`
	// DeadLetters counts how often messages of this transaction were dead-lettered
	// since a call last had a result. DeadWake is the wake that was current when
	// that was last counted: what was sent before it has died with it.
	DeadLetters int `json:"deadLetters,omitempty"`
	DeadWake    int `json:"deadWake,omitempty"`

	TraceParent string `json:"traceparent,omitempty"`
	// TTL is how long the document lives after its last write, in seconds; set
	// in final states only.
	TTL int `json:"ttl,omitempty"`
}

// Lease is a runner's hold on a transaction.
type Lease struct {
	Runner string  `json:"runner,omitempty"` // random, one per taking
	Epoch  int     `json:"epoch"`            // +1 with each taking
	Until  Instant `json:"until,omitzero"`
}

// Live reports whether someone holds the lease at now.
func (l Lease) Live(now time.Time) bool { return l.Runner != "" && now.Before(l.Until.Time) }

// StepState is where a step stands.
type StepState string

// The states of a step.
const (
	StepPending   StepState = "Pending"   // to be called, or to be called again
	StepStarted   StepState = "Started"   // a call may be on its way
	StepSucceeded StepState = "Succeeded" // for the revision in Revision
	StepRejected  StepState = "Rejected"  // the service said no
	StepUndoing   StepState = "Undoing"   // an undo may be on its way, or waits for NotBefore
	StepUndone    StepState = "Undone"
)

// StepProgress is where one step of one transaction stands.
type StepProgress struct {
	Name     string    `json:"name"`
	State    StepState `json:"state"`
	Effect   Effect    `json:"effect"`   // over finished attempts; Started counts as maybe on top
	Revision int       `json:"revision"` // of the latest success, 0 if none
	Attempts int       `json:"attempts"`
	// Tried is the revision of the latest attempt, 0 if there was none.
	Tried int `json:"tried,omitempty"`
	// NotBefore is when the next attempt may be made; zero means now.
	NotBefore Instant         `json:"notBefore,omitzero"`
	StartedAt Instant         `json:"startedAt,omitzero"` // first attempt
	EndedAt   Instant         `json:"endedAt,omitzero"`   // latest result
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *StepError      `json:"error,omitempty"` // of the latest failed attempt
	// UndoAttempts and UndoError are the same for the undo. UndoLaters counts
	// the wakes in which the service was sent the undo and failed at it.
	UndoAttempts int        `json:"undoAttempts,omitempty"`
	UndoLaters   int        `json:"undoLaters,omitempty"`
	UndoError    *StepError `json:"undoError,omitempty"`
	// Before is the state to go back to if the undo can't be made: set in
	// StepUndoing only.
	Before StepState `json:"before,omitempty"`
}

// StepError is a failed attempt as it is kept.
type StepError struct {
	Status  int     `json:"status,omitempty"` // HTTP, 0 when there was no answer
	Type    string  `json:"type,omitempty"`
	Message string  `json:"message"`
	At      Instant `json:"at"`
}

// OperationKind is what a client asked for.
type OperationKind string

// The operations.
const (
	OperationStart      OperationKind = "start"
	OperationReschedule OperationKind = "reschedule"
	OperationCancel     OperationKind = "cancel"
)

// before is what OperationStart was called when there was one business: stored
// documents may still say so.
const before = "deliver"

// UnmarshalText reads a kind, one that was written before among them.
func (k *OperationKind) UnmarshalText(text []byte) error {
	*k = OperationKind(text)
	if *k == before {
		*k = OperationStart
	}
	return nil
}

// OperationState is how an operation stands.
type OperationState string

// The states of an operation; all but Pending are final.
const (
	OperationPending    OperationState = "Pending"
	OperationApplied    OperationState = "Applied"
	OperationRefused    OperationState = "Refused"
	OperationSuperseded OperationState = "Superseded"
)

// OperationRecord is one operation as the transaction knows it.
type OperationRecord struct {
	ID     string         `json:"id"` // the OperationID
	Kind   OperationKind  `json:"kind"`
	State  OperationState `json:"state"`
	Reason string         `json:"reason,omitempty"` // for Refused and Superseded
	// Caller is who asked, until the start shows whose transaction it is.
	Caller string          `json:"caller,omitempty"`
	Change json.RawMessage `json:"change,omitempty"` // a reschedule's body, while Pending
	Bytes  int             `json:"bytes,omitempty"`  // the length that Change has, or had
	Hash   string          `json:"hash,omitempty"`   // of the content, see Hash; none if an older version received it
	// Revision is the transaction's revision under which the operation was
	// taken up; 0 while it waits to be.
	Revision   int     `json:"revision,omitempty"`
	AcceptedAt Instant `json:"acceptedAt"`
	EndedAt    Instant `json:"endedAt,omitzero"`
}

// Schema is the newest version of the stored document that this code knows. A
// field that an older version may drop when it saves the document can be added
// as it is; any other needs a new schema, which older versions leave alone.
const Schema = 1

// Clone returns a copy that shares nothing that this package changes: raw JSON
// is shared, since it is only ever replaced.
func (p *Progress) Clone() *Progress {
	c := *p
	c.Steps = slices.Clone(p.Steps)
	c.Operations = slices.Clone(p.Operations)
	c.History = slices.Clone(p.History)
	c.Outbox.Notices = slices.Clone(p.Outbox.Notices)
	return &c
}

// Step returns the step of that name, nil if there is none.
func (p *Progress) Step(name string) *StepProgress {
	for i := range p.Steps {
		if p.Steps[i].Name == name {
			return &p.Steps[i]
		}
	}
	return nil
}

// Operation returns the operation with that id, nil if there is none.
func (p *Progress) Operation(id string) *OperationRecord {
	for i := range p.Operations {
		if p.Operations[i].ID == id {
			return &p.Operations[i]
		}
	}
	return nil
}
