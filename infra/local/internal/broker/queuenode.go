package broker

import (
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A queueNode is a queue with its receivers. The keeper's mu guards all of it
// but cfg and faults.
type queueNode struct {
	*keeper
	cfg     QueueConfig
	faults  *fault.Injector
	q       *queue.Queue
	waiting [2]line // receivers with credit, by sub-queue
	sources map[*queueSource]struct{}
	drains  []*queueSource // receivers that want to know when nothing is left for them
}

// dispatchAtOnce bounds how long dispatching holds the lock.
const dispatchAtOnce = 256

func openQueue(cfg QueueConfig, s store.Store, now func() time.Time, log *slog.Logger) (*queueNode, error) {
	prefix := "servicebus/" + strings.ToLower(cfg.Name) + "/"
	q, err := queue.Load(cfg.rules(), below(s, prefix))
	if err != nil {
		return nil, err
	}
	return &queueNode{
		keeper: newKeeper(s, prefix, now, log), cfg: cfg, q: q,
		sources: make(map[*queueSource]struct{}),
	}, nil
}

// below gives the entries under prefix without it.
func below(s store.Store, prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, value := range s.All(prefix) {
			if !yield(strings.TrimPrefix(key, prefix), value) {
				return
			}
		}
	}
}

func (n *queueNode) start() { go n.run(n.turn, n.dropSources) }

// keep puts a change of the queue; mu is held.
func (n *queueNode) keep(c queue.Change) {
	for _, r := range c {
		n.put(r.Key, r.Value)
	}
}

// turn does what time and waiting receivers ask for; mu is held.
func (n *queueNode) turn(now time.Time) (next time.Time, ok bool) {
	if n.stopped != nil {
		return time.Time{}, false
	}
	n.keep(n.q.Advance(now))
	n.dispatch(now, queue.Main)
	n.dispatch(now, queue.DeadLetter)
	n.endDrains()
	return n.q.NextDue()
}

// dispatch gives messages to waiting receivers: one each, in turn.
func (n *queueNode) dispatch(now time.Time, sub queue.Sub) {
	for range dispatchAtOnce {
		if n.q.Ready(sub) == 0 {
			return
		}
		s, ok := n.waiting[sub].next()
		if !ok {
			return
		}
		r, change, ok := n.receive(now, sub)
		n.keep(change)
		if ok {
			s.credit--
			s.handed++
			n.then(func(err error) { s.deliver(r, err) })
		}
		n.waiting[sub].add(s)
	}
	n.signal() // there may be more
}

// endDrains tells the receivers that drain and for which nothing is left, behind
// what was handed out to them; mu is held.
func (n *queueNode) endDrains() {
	n.drains = slices.DeleteFunc(n.drains, func(s *queueSource) bool {
		if s.credit > 0 && !s.closed && n.q.Ready(s.sub) > 0 {
			return false
		}
		if emptied := s.emptied; emptied != nil {
			n.then(func(error) { emptied() })
		}
		s.emptied = nil
		return true
	})
}

// receive locks the next message; mu is held.
func (n *queueNode) receive(now time.Time, sub queue.Sub) (queue.Received, queue.Change, bool) {
	if n.q.Ready(sub) > 1 && n.faults.Hit(fault.ServiceBusReorder) {
		return n.q.ReceiveLast(now, sub, queue.PeekLock)
	}
	return n.q.Receive(now, sub, queue.PeekLock)
}

// body reads the body of a message that is kept. The error wraps store.ErrAbsent
// when the message has gone since. mu need not be held.
func (n *queueNode) body(r queue.Received) ([]byte, error) {
	content, err := n.store.Get(n.prefix + r.Content)
	if err != nil {
		return nil, fmt.Errorf("broker: message %d: %w", r.SequenceNumber, err)
	}
	return queue.Body(content)
}

// locked runs an operation of the holder of a lock, unless the lock is to be
// lost just before: then the message is available again, its delivery has
// counted, and the holder hears of it. mu is held.
func (n *queueNode) locked(now time.Time, sub queue.Sub, t queue.Token, op func() (queue.Change, error)) (queue.Change, error) {
	if !n.faults.Hit(fault.ServiceBusLockLost) {
		return op()
	}
	c, err := n.q.Abandon(now, sub, t, nil) // does what the end of a lock does
	if err == nil {
		err = queue.ErrLockLost
	}
	return c, err
}

// enqueue takes messages, and tells whether any is new: duplicate detection drops
// the others. mu is held.
func (n *queueNode) enqueue(now time.Time, msgs []queue.Message) (seqs []int64, c queue.Change, changed bool) {
	c = n.q.Advance(now)
	seqs, taken := n.q.Enqueue(now, msgs...)
	return seqs, append(c, taken...), len(taken) > 0
}

// change runs an operation and calls done when what it changed is kept, or
// with its error.
func (n *queueNode) change(op func(now time.Time) (queue.Change, error), done func(error)) {
	n.mu.Lock()
	if err := n.stopped; err != nil {
		n.mu.Unlock()
		done(err)
		return
	}
	c, err := op(n.now())
	n.keep(c)
	if err == nil {
		n.then(done)
	}
	n.mu.Unlock()
	n.signal()
	if err != nil {
		done(wire(err))
	}
}

// dropSources ends all receiving links.
func (n *queueNode) dropSources(e *amqp.Error) {
	n.mu.Lock()
	sources := slices.Collect(maps.Keys(n.sources))
	n.mu.Unlock()
	for _, s := range sources {
		s.out.Detach(e)
	}
}

// A line is receivers in the order in which they get their next message.
type line struct {
	sources []*queueSource
	skip    int // the first ones of sources that have left
}

// add puts s at the end, unless it is there already or can't take a message.
func (l *line) add(s *queueSource) {
	if s.inLine || s.closed || s.credit <= 0 {
		return
	}
	s.inLine = true
	l.sources = append(l.sources, s)
}

// next takes the first receiver that can still take a message.
func (l *line) next() (*queueSource, bool) {
	for l.skip < len(l.sources) {
		s := l.sources[l.skip]
		l.sources[l.skip] = nil
		l.skip++
		if l.skip*2 >= len(l.sources) {
			l.sources = append(l.sources[:0], l.sources[l.skip:]...)
			l.skip = 0
		}
		s.inLine = false
		if !s.closed && s.credit > 0 {
			return s, true
		}
	}
	return nil, false
}
