package enginetest

import (
	"context"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// The properties of a Queue, those of the design.
const (
	DuplicateWindow  = 10 * time.Minute
	LockDuration     = time.Minute
	MaxDeliveryCount = 10
)

// Queue is a namespace of Service Bus queues in memory: PeekLock, scheduled
// messages, duplicate detection, dead letters. Its effects are
// "send <MessageID>". Now is called for the time. It is safe for concurrent
// use.
type Queue struct {
	Gate *workflowtest.Gate
	Now  func() time.Time

	mu       sync.Mutex
	messages []*Delivery
	seen     map[string]time.Time // by queue and MessageID
	dead     []engine.Queued
	sent     int
}

// Delivery is a message in a queue. Settle it once.
type Delivery struct {
	engine.Queued
	Count int // of deliveries

	queue   *Queue
	visible time.Time
}

// NewQueue returns queues without messages.
func NewQueue(g *workflowtest.Gate, now func() time.Time) *Queue {
	if g == nil {
		g = &workflowtest.Gate{}
	}
	return &Queue{Gate: g, Now: now, seen: map[string]time.Time{}}
}

// Send puts messages into their queues; a repeat within the duplicate window
// is dropped, and succeeds.
func (q *Queue) Send(ctx context.Context, messages ...engine.Queued) error {
	for _, m := range messages {
		if err := ctx.Err(); err != nil {
			return failure.New(failure.Transient, "send", m.MessageID, err)
		}
		fate, lost := q.Gate.Ask("send " + m.MessageID)
		if fate != workflowtest.Refuse {
			q.Put(m)
		}
		if lost != nil {
			return lost
		}
	}
	return nil
}

// Put puts a message into its queue without asking the gate.
func (q *Queue) Put(m engine.Queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.Now()
	key := m.Queue + " " + m.MessageID
	if at, ok := q.seen[key]; ok && now.Sub(at) < DuplicateWindow {
		return
	}
	q.seen[key] = now
	q.sent++
	visible := now
	if m.At.After(now) {
		visible = m.At
	}
	q.messages = append(q.messages, &Delivery{Queued: m, queue: q, visible: visible})
}

// Has reports whether the message is there, scheduled or locked ones included.
func (q *Queue) Has(messageID string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.messages {
		if d.MessageID == messageID {
			return true
		}
	}
	return false
}

// Receivable returns the messages that can be received now, in the order of
// their arrival.
func (q *Queue) Receivable() []*Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	var ready []*Delivery
	for _, d := range q.messages {
		if !d.visible.After(q.Now()) {
			ready = append(ready, d)
		}
	}
	return ready
}

// Next returns when the next message can be received; false if there is none.
func (q *Queue) Next() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	for _, d := range q.messages {
		if next.IsZero() || d.visible.Before(next) {
			next = d.visible
		}
	}
	return next, !next.IsZero()
}

// Lock receives the message: nobody else does until it is settled or its lock
// runs out.
func (d *Delivery) Lock() {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.Count++
	d.visible = d.queue.Now().Add(LockDuration)
}

// Complete removes the message.
func (d *Delivery) Complete() {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	d.remove()
}

// Abandon gives the message back at once, or makes it a dead letter when it was
// delivered too often.
func (d *Delivery) Abandon() {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	if d.Count >= MaxDeliveryCount {
		d.queue.dead = append(d.queue.dead, d.Queued)
		d.remove()
		return
	}
	d.visible = d.queue.Now()
}

func (d *Delivery) remove() {
	kept := d.queue.messages[:0]
	for _, other := range d.queue.messages {
		if other != d {
			kept = append(kept, other)
		}
	}
	d.queue.messages = kept
}

// TakeDeadLetters returns the dead letters and removes them.
func (q *Queue) TakeDeadLetters() []engine.Queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	dead := q.dead
	q.dead = nil
	return dead
}

// Len returns how many messages there are, scheduled and locked ones included.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// Sent returns how many messages were taken in, repeats not counted.
func (q *Queue) Sent() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sent
}
