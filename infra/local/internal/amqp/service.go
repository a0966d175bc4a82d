package amqp

import (
	"context"
	"net"
)

// A Service is what a Server serves: it owns the entities behind the
// addresses. The Server owns connections, sessions, links, flow control, SASL
// and $cbs, and knows nothing of queues or hubs.
//
// All methods may be called from many goroutines at once. An error that a
// method returns reaches the peer with the condition of the *Error in its
// chain; any other error becomes amqp:internal-error.
type Service interface {
	// PutToken checks a token for an audience (amqp://host:port/entity...) and
	// returns nil when the peer may use the entity. The Server answers the
	// put-token request of the claims-based security draft (section 3.2):
	// 202 for nil; for an error the status that StatusOf gives, so that a
	// missing entity is 404 and a wrong signature 401.
	PutToken(ctx context.Context, t Token) error

	// SignIn checks the name and the password of SASL PLAIN and returns nil when
	// the connection may use all entities: ConnInfo.User is the name then.
	SignIn(ctx context.Context, name, password string) error

	// OpenSink is called when a peer attaches a sending link. It must not block:
	// performatives take effect in the order in which they came, so that the
	// Server doesn't read on before it returns. ctx ends with the link.
	OpenSink(ctx context.Context, a Attach) (Sink, LinkOptions, error)

	// OpenSource is called when a peer attaches a receiving link, on the same
	// terms. The Source sends through out for as long as ctx lives.
	OpenSource(ctx context.Context, a Attach, out Outgoing) (Source, LinkOptions, error)

	// Request answers one request that was sent to an address ending in
	// $management ("$management" or "entity/$management"). The Server pairs
	// requests with reply links and copies the message-id to the response's
	// correlation-id. The Service returns the status as an error, too; ErrCut
	// answers nothing.
	Request(ctx context.Context, r Request) (Response, error)
}

// Token is one put-token request.
type Token struct {
	Conn     ConnInfo
	Audience string // application property "name", as sent
	Type     string // "servicebus.windows.net:sastoken" or "jwt"
	Value    string
}

// ConnInfo identifies the connection that something came from.
type ConnInfo struct {
	ID          string // unique in this Server
	ContainerID string
	Hostname    string
	Remote      net.Addr
	User        string // who signed in by SASL PLAIN, "" for none
	UserAgent   string // what the peer calls itself in its open's properties, "" for nothing
}

// Attach is what a peer asked for in its attach performative (OASIS AMQP 1.0
// part 2, section 2.7.3).
type Attach struct {
	Conn ConnInfo
	// Name is the link's name, Address the source's (peer receives) or the
	// target's (peer sends) address as sent; Service decides about case.
	Name, Address string
	// PeerAddress is the address of the link's other end (the peer's own).
	PeerAddress string
	// Settled is true when the peer asked for pre-settled transfers (sender
	// settle mode settled). ReceiverSecond is true for receiver settle mode
	// second (PeekLock of Service Bus).
	Settled, ReceiverSecond bool
	// Copies is true when the peer wants to look at messages that stay
	// (distribution mode copy, as JMS's browsers do).
	Copies bool
	// Filters are the source's filters by name, described values undone.
	Filters map[string]any
	// Capabilities are those that the peer desires.
	Capabilities []string
	// Properties are the link's properties.
	Properties map[string]any
}

// LinkOptions are what the Service wants in the attach reply and from the
// engine.
type LinkOptions struct {
	// MaxMessageSize is put into the attach reply; 0 means no limit is sent
	// (the Go SDKs then refuse to batch, so a Sink always sets it).
	MaxMessageSize uint64
	// Settled makes every Send of a Source pre-settled: Event Hubs does so,
	// Service Bus PeekLock does not.
	Settled bool
	// Credit is how many transfers a Sink takes before the Server replenishes;
	// 0 means the Server's default. The Server replenishes as transfers are
	// settled, so that an unhurried Sink slows its own link only.
	Credit uint32
	// Capabilities are offered in the attach reply, into which Properties and
	// Filters are put as well.
	Capabilities []string
	Properties   map[string]any
	Filters      map[string]any
}

// A Sink takes what a peer sends on one link.
type Sink interface {
	// Transfer takes one complete message. done must be called exactly once,
	// from any goroutine and possibly later: nil answers accepted, ErrCut and a
	// *DetachError answer nothing, any other error answers rejected with its
	// condition. Transfer itself must not block on storage or on other links;
	// the Server calls it in order of arrival. The Sink owns t and its payload.
	Transfer(t Transfer, done func(error))
	// Close is called once, after the link has ended for whatever reason. No
	// Transfer follows it.
	Close()
}

// Transfer is one message as a peer sent it.
type Transfer struct {
	Format  uint32 // 0, or 0x80013700 for a batch
	Payload []byte // the encoded sections
	Settled bool   // the peer sent it settled and expects no outcome
}

// A Source sends to a peer on one link.
type Source interface {
	// Credit tells that the peer now allows n further deliveries in all
	// (the link-credit of OASIS part 2, section 2.6.7, after what is in flight
	// was taken off). It must not block. emptied is nil unless the peer drains
	// (section 2.6.7); then the Source calls it, from any goroutine, when it has
	// sent what is there for this credit.
	Credit(n uint32, emptied func())
	// Settle tells the peer's disposition of an unsettled delivery. done must
	// be called exactly once, possibly later, from any goroutine: nil answers
	// the outcome's kind and settled, ErrCut and a *DetachError answer nothing, any other
	// error rejected with its condition and settled.
	Settle(tag []byte, outcome Outcome, done func(error))
	// Close is called once, after the link has ended for whatever reason.
	Close()
}

// Outgoing is the Server's end of a link on which the Service sends. It is safe
// for concurrent use.
type Outgoing interface {
	// Send hands a delivery to the link and takes one credit. It does not wait
	// for the network: what it queues is bounded by the credit that the peer
	// gave. It returns false, without any effect, when the link has no credit
	// or has ended.
	Send(d Delivery) bool
	// Detach ends the link with an error (closed = true), as the service does
	// when a lock or ownership is lost.
	Detach(err *Error)
}

// Delivery is one message to a peer. The Server owns it from Send on.
type Delivery struct {
	Tag     []byte // 1 to 32 bytes, unique among the link's unsettled ones
	Format  uint32
	Payload []byte // the encoded sections, without limit of frame size
}

// OutcomeKind is the delivery state that a peer settled with (OASIS part 3,
// section 3.4).
type OutcomeKind int

// The outcomes.
const (
	Accepted OutcomeKind = iota + 1
	Rejected
	Released
	Modified
)

// Outcome is a peer's disposition.
type Outcome struct {
	Kind OutcomeKind
	// Error is set for Rejected when the peer sent one.
	Error *Error
	// DeliveryFailed, UndeliverableHere and Annotations belong to Modified.
	DeliveryFailed, UndeliverableHere bool
	Annotations                       map[string]any
}

// Request is one message to a $management node.
type Request struct {
	Conn       ConnInfo
	Address    string         // the request link's target, as sent
	Properties map[string]any // application properties: operation, name, type ...
	Body       any            // the amqp-value section's value, nil if none
}

// Response answers a Request: a status such as 200, 202, 204 or 404, its
// description, the condition of what is an error, and a value for the amqp-value section (arrays and lists are
// told apart by Go type as go-amqp encodes them: []string, []int64 and
// []time.Time are arrays, []any is a list).
type Response struct {
	Status      int32
	Description string
	Condition   string
	Body        any
}

// Error is an AMQP error (OASIS part 2, section 2.8.14) that a peer sees.
type Error struct {
	Condition   string // such as "amqp:not-found"
	Description string
	Info        map[string]any
}

func (e *Error) Error() string { return e.Condition + ": " + e.Description }
