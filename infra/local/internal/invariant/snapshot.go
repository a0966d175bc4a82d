package invariant

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Snapshot is all that is known of a system at one moment, in no order. It is
// plain data.
type Snapshot struct {
	// Stored is what is stored of the transactions and of the business.
	trial.Stored
	Requests   []ingest.RequestRecord
	Outside    []workflow.OutsideOperation // stored beside the requests
	Quarantine []quarantine.Entry
	Queues     []Queue
	// Documents are the sizes of all documents of the system, of those that are
	// not here otherwise as well.
	Documents []Document

	// What the clients know.
	Ledger []LedgerEntry
	// Poison are the BodyHash of what was put on the hub, or into a queue, to
	// be found unreadable. One that was put there twice may be here once.
	Poison []string
	// UndoRefused are the transactions whose undo an injected fault refuses for
	// good: they, and those that the world has finished, may be Stuck.
	UndoRefused map[string]bool
	// Notifications tells whether the news of each transaction's end is
	// delivered, and has been all the time.
	Notifications bool
}

// LedgerEntry is one answer 202, as its client noted it down. An answer that a
// repeated request got again may be there twice.
type LedgerEntry struct {
	TransactionID string                 `json:"transactionId"`
	OperationID   string                 `json:"operationId"`
	Kind          workflow.OperationKind `json:"kind"`
	// Body is what was sent: the request of a start, the change of a
	// reschedule. Nil if the client does not know any more; then it is not
	// compared with what is stored.
	Body       json.RawMessage `json:"body,omitempty"`
	AcceptedAt time.Time       `json:"acceptedAt"` // when the answer came, by the client's clock
}

// Queue is what waits in a queue. Messages that are locked count as what they
// were before.
type Queue struct {
	Name        string `json:"name"`
	Active      int    `json:"active"`
	Scheduled   int    `json:"scheduled"`
	DeadLetters int    `json:"deadLetters"`
}

// BodyHash names a body: its SHA-256, in hex.
func BodyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
