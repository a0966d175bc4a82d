package amqp

import "math"

// session is one session (OASIS part 2, section 2.5). All of it needs the
// connection's mu.
type session struct {
	c       *conn
	local   uint16           // our channel
	remote  uint16           // the peer's
	ended   bool             // we sent an end and await the peer's
	links   map[uint32]*link // by the peer's handle
	handles table[link]      // ours

	// What the peer sends: the transfer-id that comes next, and how many
	// transfers it may still send.
	nextIncomingID uint32
	window         uint32

	// What we send.
	nextOutgoingID uint32
	peerWindow     uint32
	peerHandleMax  uint32
	nextDeliveryID uint32

	received map[uint32]*received // the peer's unsettled deliveries by id
	sent     map[uint32]*sent     // ours
	parked   []*link              // links that wait for peerWindow

	dirty        bool // in c.dirty
	flowDue      bool
	flowLinks    []*link
	dispositions [2]pendingDisposition // as sender and as receiver
}

// begin starts the session that a peer asks for.
func (c *conn) begin(channel uint16, p *beginFrame) error {
	s := &session{
		c:              c,
		remote:         channel,
		links:          map[uint32]*link{},
		nextIncomingID: p.nextOutgoingID,
		window:         c.options.SessionWindow,
		peerWindow:     p.incomingWindow,
		peerHandleMax:  p.handleMax,
		received:       map[uint32]*received{},
		sent:           map[uint32]*sent{},
	}
	local := c.channels.add(s)
	if local > uint32(c.peerChannelMax) {
		c.channels.remove(local)
		return Errorf(CondNotAllowed, "no channel is left up to the peer's channel-max %d", c.peerChannelMax)
	}
	s.local = uint16(local)
	c.sessions[channel] = s
	c.send(s.local, &beginFrame{
		remoteChannel:  some(uint32(channel)),
		nextOutgoingID: s.nextOutgoingID,
		incomingWindow: s.window,
		outgoingWindow: math.MaxInt32,
		handleMax:      c.options.HandleMax,
	})
	return nil
}

// receive handles a performative of this session. An *Error closes the
// connection; what breaks the session's own rules ends the session.
func (s *session) receive(p performative, payload []byte) error {
	switch p := p.(type) {
	case *attachFrame:
		if p.handle > s.c.options.HandleMax {
			return Errorf(CondFramingError, "handle %d, limit %d", p.handle, s.c.options.HandleMax)
		}
		s.attach(p)
	case *flowFrame:
		s.flow(p)
	case *transferFrame:
		s.transfer(p, payload)
	case *dispositionFrame:
		s.disposition(p)
	case *detachFrame:
		if l := s.link(p.handle, "detach"); l != nil {
			l.peerDetached()
		}
	default:
		return Errorf(CondNotAllowed, "%s in a session", name(p))
	}
	return nil
}

// link returns the link of the peer's handle; without one it ends the session.
func (s *session) link(handle uint32, what string) *link {
	l := s.links[handle]
	if l == nil {
		s.end(Errorf(CondUnattachedHandle, "%s for handle %d, which has no link", what, handle))
	}
	return l
}

// end ends the session with an error. The peer's end is still to come.
func (s *session) end(reason *Error) {
	s.c.log.Debug("amqp session ended", "channel", s.remote, "error", reason)
	s.endLinks()
	s.ended = true
	s.c.send(s.local, &endFrame{err: reason})
}

// peerEnded answers the peer's end, unless it is the answer to ours.
func (s *session) peerEnded(p *endFrame) {
	if !s.ended {
		if p.err != nil {
			s.c.log.Debug("amqp session ended by the peer", "channel", s.remote, "error", p.err)
		}
		s.endLinks()
		s.ended = true
		s.c.send(s.local, &endFrame{})
	}
	delete(s.c.sessions, s.remote)
	s.c.channels.remove(uint32(s.local))
}

// drop ends the session without a word, since the connection is over.
func (s *session) drop() {
	s.endLinks()
	s.ended = true
}

func (s *session) endLinks() {
	for _, l := range s.links {
		l.finish()
		l.state = linkGone
	}
	clear(s.links)
	clear(s.received)
	clear(s.sent)
	s.parked, s.flowLinks = nil, nil
	s.dispositions = [2]pendingDisposition{}
}

// touch has flush called before the next write.
func (s *session) touch() {
	if !s.dirty && !s.ended {
		s.dirty = true
		s.c.dirty = append(s.c.dirty, s)
		s.c.wakeWriter()
	}
}

// flush sends the dispositions and flows that have come up.
func (s *session) flush() {
	s.dirty = false
	if s.ended {
		return
	}
	s.flushDispositions()
	for _, l := range s.flowLinks {
		l.receiving.sendFlow()
	}
	clear(s.flowLinks)
	s.flowLinks = s.flowLinks[:0]
	if s.flowDue {
		s.sendFlow(flowFrame{})
	}
}
