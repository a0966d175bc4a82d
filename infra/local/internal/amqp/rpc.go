package amqp

import (
	"context"
	"errors"
	"strings"
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
func (l *link) openSink(a Attach) (Sink, LinkOptions, error) {
	sink := &requestSink{l: l, address: a.Address}
	switch {
	case a.Address == cbsAddress:
		sink.run = func(f func()) { f() } // in the order of the wire
		sink.handle = l.s.c.putToken
	case isManagement(a.Address):
		sink.run = l.s.c.wg.Go
		sink.handle = l.s.c.manage
	default:
		return l.s.c.server.service.OpenSink(l.ctx, a)
	}
	return sink, LinkOptions{MaxMessageSize: maxRequest, Credit: requestCredit}, nil
}

// openSource asks the Service for a Source, or takes a reply link.
func (l *link) openSource(a Attach) (Source, LinkOptions, error) {
	c := l.s.c
	if a.Address != cbsAddress && !isManagement(a.Address) {
		return c.server.service.OpenSource(l.ctx, a, l.sending)
	}
	source := &replySource{l: l, node: a.Address, target: a.PeerAddress}
	c.mu.Lock()
	c.replies = append(c.replies, source)
	c.mu.Unlock()
	return source, LinkOptions{Settled: true}, nil
}

// isManagement tells whether an address names a management node.
func isManagement(address string) bool {
	last := address[strings.LastIndexByte(address, '/')+1:]
	return strings.EqualFold(last, managementNode)
}

// requestSink takes the requests of one link and answers each.
type requestSink struct {
	l       *link
	address string
	run     func(func())
	handle  func(context.Context, *request) (Response, error)
}

// Transfer implements Sink.
func (s *requestSink) Transfer(t Transfer, done func(error)) {
	r, err := parseRequest(t.Payload)
	if err != nil {
		done(&Error{Condition: CondDecodeError, Description: err.Error()})
		return
	}
	r.address = s.address
	replies := s.l.s.c.replySource(s.l.s, s.address, r.replyTo)
	if replies == nil {
		done(Errorf(CondNotFound, "no link from %s for the reply (reply-to %q)", s.address, r.replyTo))
		return
	}
	if !replies.reserve() {
		done(Errorf(CondResourceLimitExceeded, "more than %d replies wait for credit", maxReplies))
		return
	}
	s.run(func() {
		response, err := s.handle(s.l.ctx, r)
		if errors.Is(err, ErrCut) {
			done(err)
			return
		}
		if err != nil {
			response = failed(err)
		}
		done(nil)
		replies.reply(encodeReply(r.id, response))
	})
}

// Close implements Sink.
func (s *requestSink) Close() {}
