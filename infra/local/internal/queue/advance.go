package queue

import (
	"fmt"
	"time"
)

// Advance does what time did to the queue up to now: locks end, schedules are
// reached, messages expire, message ids are forgotten.
func (q *Queue) Advance(now time.Time) Change {
	q.advance(now)
	return q.take()
}

// NextDue gives the next instant at which Advance does something to a message.
// It may lie in the past when the queue was not advanced since. Message ids that
// leave the duplicate window don't count: the next operation drops them.
func (q *Queue) NextDue() (at time.Time, ok bool) {
	e, ok := q.due.Min()
	if !ok {
		return time.Time{}, false
	}
	return e.dueAt()
}

func (q *Queue) advance(now time.Time) {
	q.forget(now)
	for {
		e, ok := q.due.Min()
		if !ok {
			return
		}
		at, _ := e.dueAt()
		if at.After(now) {
			return
		}
		switch {
		case e.isLocked():
			q.giveBack(now, e, true)
		case e.state == Scheduled:
			q.appear(e)
		default:
			q.expire(e)
		}
	}
}

// appear makes a scheduled message visible, as the last of the queue.
func (q *Queue) appear(e *entry) {
	q.detach(e)
	e.state = Active
	e.seq = q.nextNumber()
	q.attach(e)
	q.keepState(e)
}

// giveBack ends a lock without removing the message. counted says whether the
// delivery counts as a failed one. In the dead-letter sub-queue none counts.
// Expiry takes effect as soon as the lock is gone.
func (q *Queue) giveBack(now time.Time, e *entry, counted bool) {
	q.detach(e)
	e.token, e.until = Token{}, 0
	if counted && e.sub == Main {
		e.count++
	}
	q.attach(e)
	at, expires := e.expires()
	switch {
	case e.sub == Main && int64(e.count) >= int64(q.cfg.MaxDeliveryCount):
		q.bury(e, Reason{ReasonMaxDeliveryCount,
			fmt.Sprintf("Message could not be consumed after %d delivery attempts.", q.cfg.MaxDeliveryCount)})
	case expires && e.state == Active && !at.After(now):
		q.expire(e)
	default:
		q.keepState(e)
	}
}

// expire ends an unlocked message whose time to live is over.
func (q *Queue) expire(e *entry) {
	if !q.cfg.DeadLetterOnExpiry {
		q.remove(e)
		return
	}
	q.bury(e, Reason{ReasonTTLExpired, "The message expired and was dead lettered."})
}

// bury moves e to the dead-letter sub-queue. It keeps its number and its
// delivery count and is active there, whatever it was before.
func (q *Queue) bury(e *entry, why Reason) {
	q.detach(e)
	e.sub, e.state, e.reason = DeadLetter, Active, &why
	e.token, e.until = Token{}, 0
	q.attach(e)
	q.keepState(e)
}
