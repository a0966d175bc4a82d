package queue

import (
	"errors"
	"time"
)

// Errors of the operations. They are returned as they are, to be found with
// errors.Is.
var (
	// ErrLockLost: the token names no lock that holds now. The lock ran out,
	// was settled, or never existed on this sub-queue.
	ErrLockLost = errors.New("queue: the lock was lost")
	// ErrNotFound: a sequence number names no message in the state that the
	// operation needs (deferred and unlocked, or scheduled).
	ErrNotFound = errors.New("queue: message not found")
	// ErrNotAllowed: a message of the dead-letter sub-queue can't be
	// dead-lettered.
	ErrNotAllowed = errors.New("queue: dead-lettering in the dead-letter sub-queue")
)

// Reasons that the queue itself gives when it dead-letters a message.
const (
	ReasonMaxDeliveryCount = "MaxDeliveryCountExceeded"
	ReasonTTLExpired       = "TTLExpiredException"
)

// A Sub names a sub-queue.
type Sub uint8

// The sub-queues.
const (
	Main Sub = iota
	DeadLetter
)

// A Mode says what receiving does to a message.
type Mode uint8

// The receive modes.
const (
	PeekLock Mode = iota
	ReceiveAndDelete
)

// A State is what a message waits for; the numbers are those of the
// x-opt-message-state annotation. A locked message keeps the state that it
// returns to when its lock ends.
type State uint8

// The states.
const (
	Active State = iota
	Deferred
	Scheduled
)

// A Token names a lock. It is a UUID in network byte order.
type Token [16]byte

// Message is what a sender puts into the queue. The queue never reads Body, and has
// it in the record of the message's content only.
type Message struct {
	// ID is the message id that duplicate detection goes by; it must not be
	// empty (the broker assigns one where the sender gave none).
	ID   string
	Body []byte
	// TTL is the sender's time to live, counted from the enqueue time; 0 means
	// none. The queue's DefaultTTL is its ceiling.
	TTL time.Duration
	// EnqueueAt is the scheduled enqueue time. Zero, or a time that is not
	// later than now, means at once.
	EnqueueAt time.Time
}

// Properties are application properties that settling added to a message: by
// name, each an encoded value that the queue doesn't read.
type Properties map[string][]byte

// Reason is why a message is in the dead-letter sub-queue.
type Reason struct {
	Reason, Description string
}

// Received is a message as a receiver sees it. Properties are shared with the queue
// and must not be changed.
type Received struct {
	SequenceNumber int64
	ID             string
	Content        string // the key of the record of which Body makes the body
	// EnqueuedAt is when the message became visible, for a scheduled one when
	// it will be.
	EnqueuedAt time.Time
	// TTL is the time to live that holds, 0 for none.
	TTL   time.Duration
	State State
	// DeliveryCount is the number of earlier deliveries that ended in a lost
	// lock or in abandoning.
	DeliveryCount uint32
	// Token and LockedUntil are set while the message is locked; peeking leaves
	// Token zero.
	Token       Token
	LockedUntil time.Time
	Properties  Properties
	// DeadLetter is set in the dead-letter sub-queue.
	DeadLetter *Reason
}

// Counts are the numbers of messages, each counted once.
type Counts struct {
	Active, Locked, Deferred, Scheduled int // of the main queue
	DeadLetter                          int // all of the sub-queue
}
