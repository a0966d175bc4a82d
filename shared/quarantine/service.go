package quarantine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// The reasons that this system gives. A dead-lettered message has the reason
// that Service Bus, or whoever dead-lettered it, gave.
const (
	ReasonUnreadable = "Unreadable" // no envelope could be read
	ReasonOtherShard = "OtherShard" // it belongs to another shard's hub or queue
	ReasonExpired    = "Expired"    // too old to be run, and nothing is known of it
	ReasonUnknown    = "Unknown"    // dead-lettered without a reason
)

// Waker sees to the transaction of a dead-lettered message: what the message
// asked for is put on record, and the transaction woken. body is the message's.
type Waker interface {
	DeadLettered(ctx context.Context, transactionID string, body []byte) error
}

// Received is a message as it came from a queue, or from its dead-letter sub-queue.
type Received struct {
	Queue          string // the queue's own name, without the sub-queue
	MessageID      string
	SequenceNumber int64
	// Reason and Description are the dead-letter reason and its description.
	Reason, Description string
	Body                []byte
	Properties          map[string]any
}

// Config is what a Service needs.
type Config struct {
	Store Store
	// Waker may be nil: then DeadLetter only keeps the message.
	Waker Waker
	// Keep is how long an entry lives after its last write: longer than anything waits
	// on the hub and in the queues.
	Keep time.Duration
	// Kept is told of each entry when it is stored. May be nil.
	Kept   func(ctx context.Context, e Entry)
	Now    func() time.Time
	Logger *slog.Logger
}

// Service puts things into quarantine. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// Keep stores an entry; the same message twice is once. It fills in ID, At, State
// and TTL. An entry that is too large, or that the store refuses as such, is stored
// without its body and properties: it could never be a request, and must not block
// what comes behind it.
func (s *Service) Keep(ctx context.Context, e Entry) error {
	e.ID = EntryID(e)
	e.At = s.c.Now().UTC().Truncate(time.Millisecond)
	e.State = Kept
	e.TTL = int(s.c.Keep / time.Second)
	err := s.put(ctx, e)
	if failure.Is(err, failure.Invalid) {
		e.Detail = fmt.Sprintf("%s (not kept, since it is too large: the body of %d bytes with %d properties)", e.Detail, len(e.Body), len(e.Properties))
		e.Body, e.Encoding, e.Properties = "", "", nil
		err = s.c.Store.Put(ctx, e)
	}
	if err != nil {
		return fmt.Errorf("quarantine %s: %w", e.ID, err)
	}
	// Somebody should look at each: nothing here is expected to happen. The detail
	// may quote what was sent, so that it is in the entry alone.
	s.c.Logger.WarnContext(ctx, "message quarantined",
		telemetry.KeySource, e.Source, telemetry.KeySequence, e.SequenceNumber, telemetry.KeyReason, e.Reason,
		telemetry.KeyTransaction, e.TransactionID, telemetry.KeyMessage, e.MessageID)
	if s.c.Kept != nil {
		s.c.Kept(ctx, e)
	}
	return nil
}

func (s *Service) put(ctx context.Context, e Entry) error {
	stored, err := json.Marshal(e)
	if err != nil || len(stored) > maxStored {
		return failure.New(failure.Invalid, "store entry", e.ID, err)
	}
	return s.c.Store.Put(ctx, e)
}

// Poison keeps a message that a queue's function can't process. The caller
// settles the message once Poison has succeeded.
func (s *Service) Poison(ctx context.Context, m Received) error {
	return s.Keep(ctx, m.entry(QueueSource(m.Queue)))
}

// DeadLetter keeps a dead-lettered message and then, where the message names a
// transaction, has it woken. The message is to be completed once DeadLetter
// has succeeded; before that, everything it does can be repeated.
func (s *Service) DeadLetter(ctx context.Context, m Received) error {
	if err := s.KeepDead(ctx, m); err != nil {
		return err
	}
	id := m.transaction()
	if id == "" || s.c.Waker == nil {
		return nil
	}
	if err := s.c.Waker.DeadLettered(ctx, id, m.Body); err != nil {
		return fmt.Errorf("wake transaction %s after a dead letter: %w", id, err)
	}
	return nil
}

// KeepDead keeps a dead-lettered message, and wakes nobody.
func (s *Service) KeepDead(ctx context.Context, m Received) error {
	return s.Keep(ctx, m.entry(DeadLetterSource(m.Queue)))
}

func (m Received) entry(source string) Entry {
	e := Entry{
		Source: source, SequenceNumber: m.SequenceNumber, Reason: m.Reason, Detail: m.Description,
		Properties: m.Properties, MessageID: m.MessageID, TransactionID: m.transaction(),
	}
	if e.Reason == "" {
		e.Reason = ReasonUnknown
	}
	e.SetBody(m.Body)
	return e
}

// transaction returns the id of the transaction that m is for, "" if m does not
// tell. An unreadable body does not matter when the MessageID is a wake's.
func (m Received) transaction() string {
	if id := TransactionOf(m.Body); id != "" {
		return id
	}
	if id, rest, ok := strings.Cut(m.MessageID, "/"); ok && strings.Contains(rest, "/") && problem.ValidID(id) {
		return id
	}
	return ""
}

// TransactionOf returns the TransactionID in a body, "" if none can be read. It
// asks for less than a readable envelope: an operation that this code does not
// know is still one of that transaction.
func TransactionOf(body []byte) string {
	var named struct {
		TransactionID string `json:"transactionId"`
	}
	if json.Unmarshal(body, &named) != nil || !problem.ValidID(named.TransactionID) {
		return ""
	}
	return named.TransactionID
}
