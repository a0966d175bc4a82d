package amqp

import (
	"math"
	"slices"
)

// pendingDisposition is a range of deliveries that were accepted and settled
// and whose disposition is not sent yet: neighbours share one frame.
type pendingDisposition struct {
	some        bool
	first, last uint32
}

// settle tells the peer the state of one delivery, in the role that we have.
func (s *session) settle(as role, id uint32, settled bool, state deliveryState) {
	pending := &s.dispositions[as]
	if settled && state.outcome.Kind == Accepted {
		if pending.some && id == pending.last+1 {
			pending.last = id
			return
		}
		s.flushDispositions()
		*pending = pendingDisposition{some: true, first: id, last: id}
		s.touch()
		return
	}
	s.flushDispositions()
	s.c.send(s.local, &dispositionFrame{role: as, first: id, last: id, settled: settled, state: state})
}

func (s *session) flushDispositions() {
	for as := range s.dispositions {
		if d := &s.dispositions[as]; d.some {
			d.some = false
			s.c.send(s.local, &dispositionFrame{role: role(as), first: d.first, last: d.last, settled: true, state: accepted})
		}
	}
}

// disposition takes the peer's states of a range of deliveries. Deliveries that
// are unknown are passed over: they are settled, or their link has ended.
func (s *session) disposition(p *dispositionFrame) {
	switch {
	case p.last-p.first > math.MaxInt32:
		s.end(Errorf(CondInvalidField, "disposition from %d to %d", p.first, p.last))
	case p.state.kind == stateTransactional:
		s.end(Errorf(CondNotImplemented, "transactions are not emulated"))
	case p.role == roleSender:
		if p.settled {
			inRange(s.received, p.first, p.last, func(id uint32, d *received) {
				d.settled = true
				delete(s.received, id)
			})
		}
	default:
		inRange(s.sent, p.first, p.last, func(_ uint32, d *sent) { d.settledBy(p) })
	}
}

// inRange calls f for the deliveries from first to last in order, without
// counting through a range that is larger than the map.
func inRange[T any](m map[uint32]T, first, last uint32, f func(uint32, T)) {
	if width := last - first; uint64(width) < uint64(2*len(m)) {
		for i := range width + 1 {
			if v, ok := m[first+i]; ok {
				f(first+i, v)
			}
		}
		return
	}
	var ids []uint32
	for id := range m {
		if id-first <= last-first {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return int(a-first) - int(b-first) })
	for _, id := range ids {
		f(id, m[id])
	}
}
