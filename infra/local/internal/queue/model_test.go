package queue

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// model is the same rules once more, written for being read: one slice, and
// loops over all of it.
type model struct {
	cfg  Config
	last int64
	msgs []*modelMsg
	seen map[string]sighting
}

type modelMsg struct {
	seq      int64
	id       string
	body     string
	ttl      time.Duration
	enqueued time.Time
	sub      Sub
	state    State
	count    uint32
	token    Token
	until    time.Time
	props    map[string]string
	reason   Reason
}

func (m *model) remove(x *modelMsg) {
	m.msgs = slices.DeleteFunc(m.msgs, func(y *modelMsg) bool { return x == y })
}

func (m *model) number() int64 {
	m.last++
	return m.last
}

// next finds what time does next up to now.
func (m *model) next(now time.Time) (x *modelMsg, at time.Time) {
	for _, y := range m.msgs {
		var due time.Time
		switch {
		case y.token != Token{}:
			due = y.until
		case y.state == Scheduled:
			due = y.enqueued
		case y.state == Active && y.sub == Main && y.ttl > 0:
			due = y.enqueued.Add(y.ttl)
		default:
			continue
		}
		if !due.After(now) && (x == nil || due.Before(at)) {
			x, at = y, due
		}
	}
	return x, at
}

func (m *model) advance(now time.Time) {
	maps.DeleteFunc(m.seen, func(_ string, s sighting) bool { return !now.Before(s.leaves(m.cfg.DuplicateWindow)) })
	for {
		x, _ := m.next(now)
		switch {
		case x == nil:
			return
		case x.token != Token{}:
			m.unlock(now, x, true)
		case x.state == Scheduled:
			x.state, x.seq = Active, m.number()
		default:
			m.expire(x)
		}
	}
}

func (m *model) expire(x *modelMsg) {
	if m.cfg.DeadLetterOnExpiry {
		m.bury(x, Reason{ReasonTTLExpired, "The message expired and was dead lettered."})
	} else {
		m.remove(x)
	}
}

func (m *model) bury(x *modelMsg, why Reason) {
	x.sub, x.state, x.token, x.until, x.reason = DeadLetter, Active, Token{}, time.Time{}, why
}

func (m *model) unlock(now time.Time, x *modelMsg, counted bool) {
	x.token, x.until = Token{}, time.Time{}
	if x.sub == DeadLetter {
		return
	}
	if counted {
		x.count++
	}
	expired := x.ttl > 0 && !x.enqueued.Add(x.ttl).After(now)
	switch {
	case int(x.count) >= m.cfg.MaxDeliveryCount:
		m.bury(x, Reason{ReasonMaxDeliveryCount,
			fmt.Sprintf("Message could not be consumed after %d delivery attempts.", m.cfg.MaxDeliveryCount)})
	case expired && x.state == Active:
		m.expire(x)
	}
}

func (m *model) enqueue(now time.Time, in Message) int64 {
	if s, ok := m.seen[in.ID]; ok {
		return s.seq
	}
	x := &modelMsg{seq: m.number(), id: in.ID, body: string(in.Body), ttl: in.TTL, enqueued: now}
	if c := m.cfg.DefaultTTL; c > 0 && (x.ttl == 0 || x.ttl > c) {
		x.ttl = c
	}
	if in.EnqueueAt.After(now) {
		x.state, x.enqueued = Scheduled, in.EnqueueAt
	}
	if m.cfg.DuplicateWindow > 0 {
		m.seen[in.ID] = sighting{now.UnixNano(), x.seq}
	}
	m.msgs = append(m.msgs, x)
	return x.seq
}

func (m *model) first(sub Sub) *modelMsg {
	var first *modelMsg
	for _, x := range m.ready(sub) {
		if first == nil || x.seq < first.seq {
			first = x
		}
	}
	return first
}

func (m *model) latest(sub Sub) *modelMsg {
	var latest *modelMsg
	for _, x := range m.ready(sub) {
		if latest == nil || x.seq > latest.seq {
			latest = x
		}
	}
	return latest
}

// ready gives what receivers of sub can get.
func (m *model) ready(sub Sub) []*modelMsg {
	return slices.DeleteFunc(slices.Clone(m.msgs), func(x *modelMsg) bool {
		return x.sub != sub || x.state != Active || x.token != (Token{})
	})
}

func (m *model) bySeq(sub Sub, seq int64) *modelMsg {
	for _, x := range m.msgs {
		if x.sub == sub && x.seq == seq {
			return x
		}
	}
	return nil
}

func (m *model) byToken(sub Sub, t Token) *modelMsg {
	for _, x := range m.msgs {
		if x.sub == sub && x.token == t {
			return x
		}
	}
	return nil
}

func (m *model) counts() Counts {
	var c Counts
	for _, x := range m.msgs {
		switch {
		case x.sub == DeadLetter:
			c.DeadLetter++
		case x.token != Token{}:
			c.Locked++
		case x.state == Active:
			c.Active++
		case x.state == Deferred:
			c.Deferred++
		default:
			c.Scheduled++
		}
	}
	return c
}
