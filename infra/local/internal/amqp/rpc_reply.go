package amqp

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// replySource is a link that replies go to. It queues them until the peer gives
// credit: its flow may come after its first request. mu may be held while the
// connection's is taken, not the other way round.
type replySource struct {
	l      *link
	node   string // that the replies come from
	target string // the peer's own address, "" for none

	mu      sync.Mutex
	pending fifo[[]byte]
	coming  int // replies that are worked on
	tag     uint32
}

// replySource picks the link that the reply to a request to node goes to, nil if
// there is none: one from the same node, which reply-to names by its target's
// address (as the SDKs for Go, Java and .NET do) or by its own name (as those
// for JavaScript do), or the session's own, which is not named at all (as those
// for Python do). Of equals it is the latest.
func (c *conn) replySource(s *session, node, replyTo string) *replySource {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *replySource
	best := 0
	for _, r := range c.replies {
		rank := 0
		if replyTo != "" && (r.target == replyTo || r.l.name == replyTo) {
			rank += 2
		}
		if r.l.s == s {
			rank++
		}
		if strings.EqualFold(r.node, node) && rank > 0 && rank >= best {
			found, best = r, rank
		}
	}
	return found
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
		if !s.l.sending.Send(Delivery{Tag: tag, Payload: *s.pending.front()}) {
			return
		}
		s.tag++
		s.pending.pop()
	}
}

// Credit implements Source.
func (s *replySource) Credit(_ uint32, emptied func()) {
	s.mu.Lock()
	s.sendPending()
	s.mu.Unlock()
	if emptied != nil {
		emptied()
	}
}

// Settle implements Source. Replies are sent settled.
func (s *replySource) Settle(_ []byte, _ Outcome, done func(error)) { done(nil) }

// Close implements Source.
func (s *replySource) Close() {
	c := s.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies = slices.DeleteFunc(c.replies, func(r *replySource) bool { return r == s })
}
