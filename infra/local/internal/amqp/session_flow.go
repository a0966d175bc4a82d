package amqp

import "math"

// flow takes the peer's windows from a flow and hands its link fields on
// (section 2.5.6).
func (s *session) flow(p *flowFrame) {
	s.nextIncomingID = p.nextOutgoingID
	s.peerWindow = remaining(p.incomingWindow, s.nextOutgoingID, p.nextIncomingID.or(0))
	if s.peerWindow > 0 {
		s.unpark()
	}
	if !p.handle.ok {
		if p.echo {
			s.sendFlow(flowFrame{})
		}
		return
	}
	if l := s.link(p.handle.value, "flow"); l != nil {
		l.flow(p)
	}
}

// remaining is what a peer that knows our sequence number only up to seen still
// allows when it allowed window: window less what it has not seen yet.
func remaining(window, sent, seen uint32) uint32 {
	inFlight := sent - seen
	if inFlight > math.MaxInt32 { // the peer is ahead of us: it counts wrongly
		inFlight = 0
	}
	if inFlight > window {
		return 0
	}
	return window - inFlight
}

// unpark lets the links go on that had to wait for the session's window.
func (s *session) unpark() {
	for i, l := range s.parked {
		s.parked[i] = nil
		l.sending.parked = false
		l.sending.enqueue()
	}
	s.parked = s.parked[:0]
}

// transfer accounts for one transfer frame and hands it to its link.
func (s *session) transfer(p *transferFrame, payload []byte) {
	if s.window == 0 {
		s.end(Errorf(CondWindowViolation, "transfer beyond the incoming-window"))
		return
	}
	s.window--
	s.nextIncomingID++
	s.replenish()
	l := s.link(p.handle, "transfer")
	if l == nil {
		return
	}
	if l.receiving == nil {
		s.end(Errorf(CondErrantLink, "transfer on link %q, whose receiver is the peer", l.name))
		return
	}
	l.receiving.transfer(p, payload)
}

// replenish has the window extended when half of it is used up, unless the
// connection holds too much already: then the peer has to wait.
func (s *session) replenish() {
	if s.window <= s.c.options.SessionWindow/2 && s.c.held < s.c.options.MaxBuffered/2 && !s.flowDue {
		s.flowDue = true
		s.touch()
	}
}

// sendFlow sends a flow with the link fields of p, nil for none. Each flow
// extends the session's window, too, unless the connection holds too much.
func (s *session) sendFlow(p flowFrame) {
	if s.c.held < s.c.options.MaxBuffered/2 {
		s.window = s.c.options.SessionWindow
	}
	s.flowDue = false
	p.nextIncomingID = some(s.nextIncomingID)
	p.incomingWindow = s.window
	p.nextOutgoingID = s.nextOutgoingID
	p.outgoingWindow = math.MaxInt32
	s.c.send(s.local, &p)
}
