package broker

import (
	"errors"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A queueSource is one receiving link of a queue.
type queueSource struct {
	n      *queueNode
	sub    queue.Sub
	delete bool // ReceiveAndDelete
	out    amqp.Outgoing

	// Guarded by the node's mu.
	credit  int    // deliveries that may still be handed out
	told    int    // how often the peer's credit was told
	handed  int    // handed out, but not yet given to the link
	emptied func() // to be called when nothing is left; nil unless the peer drains
	inLine  bool
	closed  bool
}

func (n *queueNode) openSource(sub queue.Sub, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	if err := mayReceive(a); err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	s := &queueSource{n: n, sub: sub, delete: a.Settled, out: out}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped != nil {
		return nil, amqp.LinkOptions{}, n.stopped
	}
	n.sources[s] = struct{}{}
	opts := amqp.LinkOptions{Settled: s.delete, MaxMessageSize: uint64(n.cfg.MaxMessageBytes)}
	return s, opts, nil
}

// mayReceive refuses what would get other messages than it asks for, or take
// away what it wants to look at.
func mayReceive(a amqp.Attach) error {
	for name := range a.Filters {
		if strings.EqualFold(name, "com.microsoft:session-filter") {
			return amqp.Errorf(amqp.CondNotAllowed,
				"A sessionful message receiver cannot be created on an entity that does not require sessions")
		}
		return amqp.Errorf(amqp.CondNotImplemented, "The filter '%s' is not supported: message selectors are not emulated", name)
	}
	if a.Copies {
		return amqp.Errorf(amqp.CondNotImplemented, "The distribution mode 'copy' is not supported: peek through $management")
	}
	return nil
}

// Credit implements [amqp.Source]. What is handed out will use its share of the
// peer's credit when it reaches the link.
func (s *queueSource) Credit(credit uint32, emptied func()) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.credit = max(0, int(credit)-s.handed)
	s.told++
	if emptied != nil {
		if s.emptied == nil {
			s.n.drains = append(s.n.drains, s)
		}
		s.emptied = emptied
	}
	s.n.waiting[s.sub].add(s)
	s.n.signal()
}

// Close implements [amqp.Source]. Locks of what was delivered stay.
func (s *queueSource) Close() {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.closed = true
	delete(s.n.sources, s)
}

// deliver sends a message whose lock is kept. The count of handed ones goes
// down before the Send: should Credit come in between, credit is too high by
// one, and the Send that finds none is undone here; the other way round a credit
// would be lost.
func (s *queueSource) deliver(r queue.Received, err error) {
	s.n.mu.Lock()
	s.handed--
	told := s.told
	s.n.mu.Unlock()
	if err != nil {
		return
	}
	body, err := s.n.body(r)
	if errors.Is(err, store.ErrAbsent) {
		s.passOver(told) // its lock ran out, and another receiver has completed it
		return
	}
	var payload []byte
	if err == nil {
		payload, err = encodeReceived(r, body, s.n.cfg.Name, false)
	}
	if err != nil {
		// Enqueueing has checked the message, so only damaged records come here.
		s.n.log.Error("a message can't be delivered", "entity", s.n.prefix, "sequenceNumber", r.SequenceNumber, "error", err)
		s.n.change(func(now time.Time) (queue.Change, error) {
			return s.n.q.Abandon(now, s.sub, r.Token, nil)
		}, s.logged)
		return
	}
	tag := guidBytes(r.Token)
	sent := s.out.Send(amqp.Delivery{Tag: tag[:], Payload: payload})
	if sent && !s.delete {
		return
	}
	if !sent {
		s.refused(told)
	}
	s.n.change(func(now time.Time) (queue.Change, error) {
		if sent {
			return s.n.q.Complete(now, s.sub, r.Token)
		}
		return s.n.q.Release(now, s.sub, r.Token)
	}, s.logged)
}

// passOver gives the credit back of a message that is not sent, unless it was told
// anew since.
func (s *queueSource) passOver(told int) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.told == told {
		s.credit++
	}
	s.n.waiting[s.sub].add(s)
	s.n.signal()
}

// refused takes the credit back that the link turned out not to have, unless it
// was told anew since. A link that has room again tells its credit.
func (s *queueSource) refused(told int) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.told == told {
		s.credit = 0
	}
}

// logged is for outcomes that no peer waits for.
func (s *queueSource) logged(err error) {
	if err != nil {
		s.n.log.Warn("a delivery was not settled", "entity", s.n.prefix, "error", err)
	}
}

// Settle implements [amqp.Source]. The tag is the lock token, so that any link
// of the entity can settle.
func (s *queueSource) Settle(tag []byte, outcome amqp.Outcome, done func(error)) {
	if len(tag) != len(queue.Token{}) {
		done(amqp.Errorf(amqp.CondMessageLockLost, lockLostText))
		return
	}
	token := queue.Token(guidBytes([16]byte(tag)))
	d, err := dispositionOf(outcome)
	if err != nil {
		done(err)
		return
	}
	if d.kind == complete && s.n.faults.Hit(fault.ServiceBusDuplicate) {
		s.loseCompletion(token, done)
		return
	}
	s.n.change(func(now time.Time) (queue.Change, error) {
		return s.n.locked(now, s.sub, token, func() (queue.Change, error) { return d.apply(s.n.q, now, s.sub, token) })
	}, done)
}

// loseCompletion lets a completed message come again: the completion is lost
// together with its link and, as can happen then (Microsoft Learn, "Service Bus
// messaging exceptions", MessageLockLost), with the lock, so that the receiver
// can't repeat it elsewhere.
func (s *queueSource) loseCompletion(token queue.Token, done func(error)) {
	s.n.change(func(now time.Time) (queue.Change, error) {
		return s.n.q.Abandon(now, s.sub, token, nil)
	}, func(err error) {
		if err == nil {
			err = forcedDetach("consumer")
		}
		done(err)
	})
}

// guidBytes turns a UUID in network order into the bytes of a .NET GUID, and
// back: its first three fields are little-endian there.
func guidBytes(u [16]byte) [16]byte {
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5] = u[5], u[4]
	u[6], u[7] = u[7], u[6]
	return u
}
