package queue

import (
	"maps"
	"time"
)

// Renew prolongs a lock by the lock duration from now on.
func (q *Queue) Renew(now time.Time, sub Sub, t Token) (until time.Time, c Change, err error) {
	q.advance(now)
	e, err := q.held(sub, t)
	if err != nil {
		return time.Time{}, q.take(), err
	}
	q.detach(e)
	e.until = now.Add(q.cfg.LockDuration).UnixNano()
	q.attach(e)
	q.keepState(e)
	return instant(e.until), q.take(), nil
}

// Complete removes a locked message.
func (q *Queue) Complete(now time.Time, sub Sub, t Token) (Change, error) {
	return q.settle(now, sub, t, nil, q.remove)
}

// Abandon gives a locked message back, changed by props. The delivery counts;
// the one that reaches MaxDeliveryCount dead-letters the message. A deferred
// message stays deferred.
func (q *Queue) Abandon(now time.Time, sub Sub, t Token, props Properties) (Change, error) {
	return q.settle(now, sub, t, props, func(e *entry) { q.giveBack(now, e, true) })
}

// Release gives a locked message back as if it had not been delivered.
func (q *Queue) Release(now time.Time, sub Sub, t Token) (Change, error) {
	return q.settle(now, sub, t, nil, func(e *entry) { q.giveBack(now, e, false) })
}

// Defer puts a locked message aside, changed by props: from now on only
// ReceiveDeferred gives it.
func (q *Queue) Defer(now time.Time, sub Sub, t Token, props Properties) (Change, error) {
	return q.settle(now, sub, t, props, func(e *entry) {
		q.detach(e)
		e.token, e.until, e.state = Token{}, 0, Deferred
		q.attach(e)
		q.keepState(e)
	})
}

// DeadLetter moves a locked message of the main queue, changed by props, to the
// dead-letter sub-queue. ErrNotAllowed for a message that is there already.
func (q *Queue) DeadLetter(now time.Time, sub Sub, t Token, why Reason, props Properties) (Change, error) {
	if sub == DeadLetter {
		return nil, ErrNotAllowed
	}
	return q.settle(now, sub, t, props, func(e *entry) { q.bury(e, why) })
}

func (q *Queue) settle(now time.Time, sub Sub, t Token, props Properties, act func(*entry)) (Change, error) {
	q.advance(now)
	e, err := q.held(sub, t)
	if err != nil {
		return q.take(), err
	}
	if len(props) > 0 {
		// A new map: receivers may still look at the old one.
		merged := make(Properties, len(e.props)+len(props))
		maps.Copy(merged, e.props)
		maps.Copy(merged, props)
		e.props = merged
	}
	act(e)
	return q.take(), nil
}

func (q *Queue) held(sub Sub, t Token) (*entry, error) {
	if e, ok := q.locks[t]; ok && e.sub == sub {
		return e, nil
	}
	return nil, ErrLockLost
}
