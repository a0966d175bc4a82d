package queue

import "time"

// Receive gives the first active message of sub, locked or removed as mode
// says; ok is false when there is none.
func (q *Queue) Receive(now time.Time, sub Sub, mode Mode) (r Received, c Change, ok bool) {
	q.advance(now)
	_, e, ok := q.subs[sub].ready.Min()
	if ok {
		r = q.hand(now, e, mode)
	}
	return r, q.take(), ok
}

// ReceiveLast is Receive, but gives the last active message: without sessions
// the service promises no order (Microsoft Learn, "Message sessions").
func (q *Queue) ReceiveLast(now time.Time, sub Sub, mode Mode) (r Received, c Change, ok bool) {
	q.advance(now)
	_, e, ok := q.subs[sub].ready.Max()
	if ok {
		r = q.hand(now, e, mode)
	}
	return r, q.take(), ok
}

// ReceiveDeferred gives deferred messages by their sequence numbers, all or
// none: ErrNotFound when one names no deferred message or a locked one. Expired
// ones are dead-lettered or dropped now, and are not found.
func (q *Queue) ReceiveDeferred(now time.Time, sub Sub, mode Mode, seqs ...int64) ([]Received, Change, error) {
	q.advance(now)
	found := make([]*entry, 0, len(seqs))
	taken := make(map[int64]bool, len(seqs))
	missing := false
	for _, seq := range seqs {
		e, ok := q.subs[sub].all.Get(seq)
		switch {
		case taken[seq]:
		case !ok || e.state != Deferred || e.isLocked():
			missing = true
		case e.expiredAt(now):
			q.expire(e)
			missing = true
		default:
			taken[seq] = true
			found = append(found, e)
		}
	}
	if missing {
		return nil, q.take(), ErrNotFound
	}
	out := make([]Received, len(found))
	for i, e := range found {
		out[i] = q.hand(now, e, mode)
	}
	return out, q.take(), nil
}

func (e *entry) expiredAt(now time.Time) bool {
	at, ok := e.expires()
	return ok && !at.After(now)
}

// hand gives an unlocked message to a receiver.
func (q *Queue) hand(now time.Time, e *entry, mode Mode) Received {
	if mode == ReceiveAndDelete {
		q.remove(e)
		return e.received()
	}
	q.detach(e)
	e.token, e.until = q.cfg.NewToken(), now.Add(q.cfg.LockDuration).UnixNano()
	q.attach(e)
	q.keepState(e)
	r := e.received()
	r.Token = e.token
	return r
}

// received is what a receiver sees of e; the token is not for everyone.
func (e *entry) received() Received {
	r := Received{
		SequenceNumber: e.seq, ID: e.name, Content: recordKey(contentPrefix, e.id),
		EnqueuedAt: instant(e.enqueued), TTL: e.ttl, State: e.state,
		DeliveryCount: e.count, LockedUntil: instant(e.until), Properties: e.props,
	}
	if e.reason != nil {
		why := *e.reason
		r.DeadLetter = &why
	}
	return r
}

// Peek gives up to limit messages of sub whose sequence number is not below
// from, in any state, without changing them. The byte limit ends the list
// early, but never before its first message; 0 means no byte limit.
func (q *Queue) Peek(now time.Time, sub Sub, from int64, limit, bytes int) ([]Received, Change) {
	q.advance(now)
	var out []Received
	size := 0
	q.subs[sub].all.Ascend(from, func(_ int64, e *entry) bool {
		size += int(e.size)
		if len(out) == limit || bytes > 0 && size > bytes && len(out) > 0 {
			return false
		}
		out = append(out, e.received())
		return true
	})
	return out, q.take()
}
