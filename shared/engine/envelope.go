package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// EnvelopeSchema is the newest version of the envelope that this code knows.
const EnvelopeSchema = 2

// MaxBody is the largest request body, in bytes, that the system accepts.
const MaxBody = 64 << 10

// Envelope is the one message format. A wake has no operation and no body.
type Envelope struct {
	Schema        int    `json:"schema"`
	TransactionID string `json:"transactionId"`
	// OperationID and Operation (start, reschedule, cancel) name what a
	// client asked for; both are empty in a wake.
	OperationID string `json:"operationId,omitempty"`
	Operation   string `json:"operation,omitempty"`
	// Wake is the number of the wake, 0 for an operation.
	Wake        int             `json:"wake,omitempty"`
	AcceptedAt  time.Time       `json:"acceptedAt"`
	Caller      string          `json:"caller,omitempty"`
	TraceParent string          `json:"traceparent,omitempty"`
	Body        json.RawMessage `json:"body,omitempty"`
	// Shard is where the transaction is.
	Shard shard.Number `json:"shard,omitzero"`
}

// AsOperation returns the operation that the envelope carries, nil for a wake.
func (e Envelope) AsOperation() *workflow.Operation {
	if e.Operation == "" {
		return nil
	}
	return &workflow.Operation{
		ID: e.OperationID, Kind: workflow.OperationKind(e.Operation), Body: e.Body,
		AcceptedAt: e.AcceptedAt, Caller: e.Caller, TraceParent: e.TraceParent,
	}
}

// WakeID is the MessageID of a wake. Together with an operation's own id, which
// is the OperationID, it names one intended message: duplicate detection drops
// a repeated send of one wake and never a new wake.
func WakeID(transactionID, queue string, wake int) string {
	return transactionID + "/" + queue + "/" + strconv.Itoa(wake)
}

// Queued is a message for a Service Bus queue.
type Queued struct {
	Queue     string // the queue's name
	MessageID string
	Body      []byte
	// At schedules the message; the zero time and the past mean now.
	At          time.Time
	TraceParent string
}
