package queue

import (
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/btree"
)

// Config are a queue's settings. The zero value of a field means what its
// comment says.
type Config struct {
	// LockDuration is how long a lock holds; it must be positive.
	LockDuration time.Duration
	// MaxDeliveryCount is after how many lost or abandoned deliveries a message
	// is dead-lettered; it must be positive.
	MaxDeliveryCount int
	// DuplicateWindow is how long message ids are remembered, 0 for not at all.
	DuplicateWindow time.Duration
	// DefaultTTL is the default and the ceiling of the time to live, 0 for none.
	DefaultTTL time.Duration
	// DeadLetterOnExpiry sends expired messages to the dead-letter sub-queue
	// instead of dropping them.
	DeadLetterOnExpiry bool
	// NewToken makes lock tokens; nil means random UUIDs.
	NewToken func() Token
}

// A Queue is one queue with its dead-letter sub-queue. Use [New] or [Load].
type Queue struct {
	cfg  Config
	last int64 // the last sequence number given
	subs [2]lane
	// locks are the held locks of both sub-queues.
	locks map[Token]*entry
	// due has every entry to which time will do something.
	due  *btree.BTreeG[*entry]
	seen history
	// change collects what the running operation has changed.
	change Change
}

// A lane is the messages of one sub-queue, by sequence number.
type lane struct {
	all   btree.Map[int64, *entry]
	ready btree.Map[int64, *entry] // active and not locked
	// locked, deferred and scheduled count the others of all; a locked
	// deferred message counts as locked.
	locked, deferred, scheduled int
}

// entry is one message without its body, which its content record has. Whoever
// changes a field that an index depends on takes the entry out before (detach) and
// puts it back after (attach). There may be millions, so it is small.
type entry struct {
	id       int64 // names its records: the first sequence number it had
	seq      int64
	name     string // the message id
	ttl      time.Duration
	enqueued int64 // ns since 1970, as all times of an entry
	until    int64 // 0 when not locked
	token    Token // zero when not locked
	props    Properties
	reason   *Reason // nil in the main queue
	size     int32   // of the body
	count    uint32
	sub      Sub
	state    State
}

// instant is a time of an entry.
func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

func (e *entry) isLocked() bool { return e.token != Token{} }

// expires is when e's time to live ends; ok is false when it never does.
// Messages of the dead-letter sub-queue have no time to live.
func (e *entry) expires() (at time.Time, ok bool) {
	if e.sub == DeadLetter || e.ttl == 0 {
		return time.Time{}, false
	}
	return instant(e.enqueued).Add(e.ttl), true
}

// dueAt is when time does something to e: a lock ends, a schedule is reached, or
// an active message expires. Deferred messages expire only when somebody asks
// for them.
func (e *entry) dueAt() (at time.Time, ok bool) {
	switch {
	case e.isLocked():
		return instant(e.until), true
	case e.state == Scheduled:
		return instant(e.enqueued), true
	case e.state == Active:
		return e.expires()
	default:
		return time.Time{}, false
	}
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	if cfg.NewToken == nil {
		cfg.NewToken = func() Token { return Token(uuid.New()) }
	}
	return &Queue{
		cfg:   cfg,
		locks: make(map[Token]*entry),
		due: btree.NewBTreeGOptions(func(a, b *entry) bool {
			x, _ := a.dueAt()
			y, _ := b.dueAt()
			if !x.Equal(y) {
				return x.Before(y)
			}
			return a.id < b.id
		}, btree.Options{NoLocks: true}),
		seen: history{ids: make(map[string]sighting)},
	}
}

// attach puts e into the indexes that its fields call for.
func (q *Queue) attach(e *entry) {
	l := &q.subs[e.sub]
	l.all.Set(e.seq, e)
	switch {
	case e.isLocked():
		l.locked++
		q.locks[e.token] = e
	case e.state == Active:
		l.ready.Set(e.seq, e)
	case e.state == Deferred:
		l.deferred++
	case e.state == Scheduled:
		l.scheduled++
	}
	if _, ok := e.dueAt(); ok {
		q.due.Set(e)
	}
}

// detach takes e out of all indexes.
func (q *Queue) detach(e *entry) {
	l := &q.subs[e.sub]
	l.all.Delete(e.seq)
	switch {
	case e.isLocked():
		l.locked--
		delete(q.locks, e.token)
	case e.state == Active:
		l.ready.Delete(e.seq)
	case e.state == Deferred:
		l.deferred--
	case e.state == Scheduled:
		l.scheduled--
	}
	if _, ok := e.dueAt(); ok {
		q.due.Delete(e)
	}
}

// Counts gives the numbers of messages as of the last operation.
func (q *Queue) Counts() Counts {
	m := &q.subs[Main]
	return Counts{
		Active: m.ready.Len(), Locked: m.locked, Deferred: m.deferred, Scheduled: m.scheduled,
		DeadLetter: q.subs[DeadLetter].all.Len(),
	}
}

// Ready gives how many messages wait for receivers of sub, as of the last
// operation.
func (q *Queue) Ready(sub Sub) int { return q.subs[sub].ready.Len() }

// take returns the changes of the operation that ends.
func (q *Queue) take() Change {
	c := q.change
	q.change = nil
	return c
}
