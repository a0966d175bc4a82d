package amqp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	goamqp "github.com/Azure/go-amqp"
)

// The nodes that the Server answers requests on: a pair of links, one with
// requests to the node and one with replies from it.
const (
	cbsAddress     = "$cbs"
	managementNode = "$management"
)

const (
	// requestCredit is how many requests of one link are worked on at a time.
	requestCredit = 100
	// maxRequest bounds the size of one request: a batch of messages to be
	// scheduled is the largest.
	maxRequest = 2 << 20
	// maxReplies bounds the replies that wait for a peer's credit.
	maxReplies = 1000
)

// openSink asks the Service for a Sink, or takes a request link.
func (c *conn) openSink(ctx context.Context, a Attach) (Sink, LinkOptions, error) {
	handle := c.manage
	switch {
	case a.Address == cbsAddress:
		handle = c.putToken
	case !isManagement(a.Address):
		return c.server.service.OpenSink(ctx, a)
	}
	sink := &requestSink{c: c, ctx: ctx, address: a.Address, handle: handle}
	return sink, LinkOptions{MaxMessageSize: maxRequest, Credit: requestCredit}, nil
}

// openSource asks the Service for a Source, or takes a reply link.
func (c *conn) openSource(ctx context.Context, a Attach, out Outgoing) (Source, LinkOptions, error) {
	if a.Address != cbsAddress && !isManagement(a.Address) {
		return c.server.service.OpenSource(ctx, a, out)
	}
	source := &replySource{c: c, out: out, address: replyAddress{node: a.Address, replyTo: a.PeerAddress}}
	c.mu.Lock()
	c.replies[source.address] = source
	c.mu.Unlock()
	return source, LinkOptions{Settled: true}, nil
}

// isManagement tells whether an address names a management node.
func isManagement(address string) bool {
	last := address[strings.LastIndexByte(address, '/')+1:]
	return strings.EqualFold(last, managementNode)
}

// request is one message to a request link.
type request struct {
	address    string
	properties map[string]any
	body       any
}

// property returns an application property that is a string, "" otherwise.
func (r *request) property(name string) string {
	s, _ := r.properties[name].(string)
	return s
}

// requestSink takes the requests of one link and answers each on a goroutine.
type requestSink struct {
	c       *conn
	ctx     context.Context // ends with the link
	address string
	handle  func(context.Context, *request) (Response, error)
}

// Transfer implements Sink.
func (s *requestSink) Transfer(t Transfer, done func(error)) {
	message, err := parseRequest(t.Payload)
	if err != nil {
		done(&Error{Condition: CondDecodeError, Description: err.Error()})
		return
	}
	replies := s.c.replySource(replyAddress{node: s.address, replyTo: *message.Properties.ReplyTo})
	if replies == nil {
		done(Errorf(CondNotFound, "no link from %s to %q for the reply", s.address, *message.Properties.ReplyTo))
		return
	}
	if !replies.reserve() {
		done(Errorf(CondResourceLimitExceeded, "more than %d replies wait for credit", maxReplies))
		return
	}
	r := &request{address: s.address, properties: message.ApplicationProperties, body: message.Value}
	s.c.wg.Go(func() {
		response, err := s.handle(s.ctx, r)
		if errors.Is(err, ErrCut) {
			done(err)
			return
		}
		if err != nil {
			response = failed(err)
		}
		done(nil)
		replies.reply(encodeReply(message.Properties.MessageID, response))
	})
}

// Close implements Sink.
func (s *requestSink) Close() {}

// parseRequest decodes a request and checks what every one needs.
func parseRequest(payload []byte) (*goamqp.Message, error) {
	if err := checkSections(payload); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	message := &goamqp.Message{}
	if err := message.UnmarshalBinary(payload); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if message.Properties == nil || message.Properties.ReplyTo == nil {
		return nil, fmt.Errorf("request without reply-to")
	}
	return message, nil
}

// checkSections decodes a message's sections with our own decoder, whose limits
// on nesting and counts keep hostile input from go-amqp's.
func checkSections(payload []byte) error {
	d := decoder{b: payload}
	for len(d.b) > 0 && d.err == nil {
		if code := d.descriptor(); d.err == nil && (code < descFirstSection || code > descLastSection) {
			return fmt.Errorf("descriptor 0x%x where a section belongs", code)
		}
		_ = d.value(0)
	}
	return d.err
}

// encodeReply encodes a response. The correlation-id is the request's
// message-id as it came, of whatever type.
func encodeReply(correlationID any, r Response) []byte {
	message := goamqp.Message{
		Properties: &goamqp.MessageProperties{CorrelationID: correlationID},
		ApplicationProperties: map[string]any{
			"status-code":        r.Status,
			"status-description": r.Description,
		},
		Value: r.Body,
	}
	if r.Body == nil {
		message.Value = goamqp.Null{}
	}
	payload, err := message.MarshalBinary()
	if err != nil {
		return encodeReply(correlationID, Response{Status: 500, Description: fmt.Sprintf("encode response: %v", err)})
	}
	return payload
}

// replyAddress pairs a reply link with requests: the node that it comes from
// and the peer's own address, which requests name in reply-to. Both are
// compared exactly and never parsed: the Go SDKs make odd ones.
type replyAddress struct{ node, replyTo string }

// replySource returns the link that replies to an address go to, nil if none.
func (c *conn) replySource(address replyAddress) *replySource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies[address]
}

// replySource queues replies until the peer gives credit: its flow may come
// after its first request. mu may be held while the connection's is taken, not
// the other way round.
type replySource struct {
	c       *conn
	out     Outgoing
	address replyAddress

	mu      sync.Mutex
	pending fifo[[]byte]
	coming  int // replies that are worked on
	tag     uint32
}

// reserve makes room for one reply.
func (s *replySource) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending.len()+s.coming >= maxReplies {
		return false
	}
	s.coming++
	return true
}

// reply queues the reply that room was reserved for.
func (s *replySource) reply(payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming--
	s.pending.push(payload)
	s.sendPending()
}

func (s *replySource) sendPending() {
	for s.pending.len() > 0 {
		tag := binary.BigEndian.AppendUint32(nil, s.tag)
		if !s.out.Send(Delivery{Tag: tag, Payload: *s.pending.front()}) {
			return
		}
		s.tag++
		s.pending.pop()
	}
}

// Credit implements Source.
func (s *replySource) Credit(uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendPending()
}

// Settle implements Source. Replies are sent settled.
func (s *replySource) Settle(_ []byte, _ Outcome, done func(error)) { done(nil) }

// Close implements Source.
func (s *replySource) Close() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.replies[s.address] == s {
		delete(s.c.replies, s.address)
	}
}
