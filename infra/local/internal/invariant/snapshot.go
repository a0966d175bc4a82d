package invariant

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
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
	// Further tells what of all that is in other shards than the first.
	Further []Part
	// Map is that of the shards; nil if none was ever stored.
	Map *shard.Map

	// What the clients know.
	Ledger []LedgerEntry
	// Poison are the BodyHash of what was put on the hub, or into a queue, to
	// be found unreadable. One that was put there twice may be here once.
	Poison []string
	// UndoRefused are the transactions whose undo an injected fault refuses for
	// good: they, and those that the world has finished, may be Stuck.
	UndoRefused map[string]bool
	// Answers are the states that the front tells of transactions, "" for one that it
	// does not know; nil if nobody has asked.
	Answers map[string]workflow.State
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
	Caller     string          `json:"caller,omitempty"` // whose it is, where callers are told apart
	AcceptedAt time.Time       `json:"acceptedAt"`       // when the answer came, by the client's clock
}

// Queue is what waits in a queue. Messages that are locked count as what they
// were before.
type Queue struct {
	Name        string `json:"name"`
	Active      int    `json:"active"`
	Scheduled   int    `json:"scheduled"`
	DeadLetters int    `json:"deadLetters"`
	// Strangers are those of them whose transaction is in another shard.
	Strangers int `json:"strangers,omitempty"`
}

// Part is what is in one of the further shards: the ids of its transactions, of the
// requests that are kept there, and of the entries of its quarantine.
type Part struct {
	Shard                              shard.Number
	Transactions, Requests, Quarantine []string
}

// join adds what was collected in a further shard.
func (s *Snapshot) join(in shard.Number, further Snapshot) {
	part := Part{Shard: in}
	for i := range further.Transactions {
		part.Transactions = append(part.Transactions, further.Transactions[i].ID)
	}
	for i := range further.Requests {
		part.Requests = append(part.Requests, further.Requests[i].ID)
	}
	for i := range further.Quarantine {
		part.Quarantine = append(part.Quarantine, entryKey(&further.Quarantine[i]))
	}
	s.Further = append(s.Further, part)
	s.Transactions, s.Requests = append(s.Transactions, further.Transactions...), append(s.Requests, further.Requests...)
	s.Outside, s.Quarantine = append(s.Outside, further.Outside...), append(s.Quarantine, further.Quarantine...)
	s.Queues, s.Documents = append(s.Queues, further.Queues...), append(s.Documents, further.Documents...)
	for container, records := range further.Records {
		s.Records[container] = append(s.Records[container], records...)
	}
	for container, docs := range further.Others {
		s.Others[container] = append(s.Others[container], docs...)
	}
	s.Now = further.Now
}

// BodyHash names a body: its SHA-256, in hex.
func BodyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
