package queue

import "time"

// Enqueue puts messages into the queue, in their order, and returns their
// sequence numbers. A message whose EnqueueAt is later than now is scheduled:
// its number names it until then; when it becomes visible it gets a new one, as
// if it had been sent at that time.
//
// A duplicate (a message id seen within the duplicate window) is accepted and
// dropped; its number is that of the first message with the id.
func (q *Queue) Enqueue(now time.Time, msgs ...Message) ([]int64, Change) {
	q.advance(now)
	seqs := make([]int64, len(msgs))
	for i, m := range msgs {
		seqs[i] = q.enqueue(now, m)
	}
	return seqs, q.take()
}

func (q *Queue) enqueue(now time.Time, m Message) int64 {
	if seq, ok := q.remembered(m.ID); ok {
		return seq
	}
	if ceiling := q.cfg.DefaultTTL; ceiling > 0 && (m.TTL == 0 || m.TTL > ceiling) {
		m.TTL = ceiling
	}
	e := &entry{name: m.ID, ttl: m.TTL, enqueued: now.UnixNano(), size: int32(len(m.Body))}
	if m.EnqueueAt.After(now) {
		e.state, e.enqueued = Scheduled, m.EnqueueAt.UnixNano()
	}
	e.seq = q.nextNumber()
	e.id = e.seq
	q.attach(e)
	q.keepContent(e, m.Body)
	if e.state != Active {
		q.keepState(e)
	}
	q.remember(now, m.ID, e.seq)
	return e.seq
}

func (q *Queue) nextNumber() int64 {
	q.last++
	q.keepLast()
	return q.last
}

// Cancel removes scheduled messages. It takes all or none: ErrNotFound when one
// of the numbers names no scheduled message (any more). The ids stay known to
// duplicate detection.
func (q *Queue) Cancel(now time.Time, seqs ...int64) (Change, error) {
	q.advance(now)
	found := make(map[int64]*entry, len(seqs))
	for _, seq := range seqs {
		e, ok := q.subs[Main].all.Get(seq)
		if !ok || e.state != Scheduled {
			return q.take(), ErrNotFound
		}
		found[seq] = e
	}
	for _, seq := range seqs {
		if e, ok := found[seq]; ok {
			q.remove(e)
			delete(found, seq)
		}
	}
	return q.take(), nil
}

// remove forgets e and its records.
func (q *Queue) remove(e *entry) {
	q.detach(e)
	q.dropRecords(e)
}
