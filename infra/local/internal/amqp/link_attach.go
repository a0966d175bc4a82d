package amqp

import "context"

// attach starts the link that a peer asks for (OASIS part 2, section 2.6.3). The
// reader asks the Service, without mu, before it reads on.
func (s *session) attach(p *attachFrame) {
	if s.links[p.handle] != nil {
		s.end(Errorf(CondHandleInUse, "attach of %q to handle %d, which has a link", p.name, p.handle))
		return
	}
	l := &link{s: s, name: p.name, remote: p.handle, asked: *p}
	if l.local = s.handles.add(l); l.local > s.peerHandleMax {
		s.end(Errorf(CondNotAllowed, "no handle is left up to the peer's handle-max %d", s.peerHandleMax))
		return
	}
	l.ctx, l.cancel = context.WithCancel(s.c.ctx)
	s.links[p.handle] = l
	if p.role == roleSender {
		l.receiving = newReceiving(l)
	} else {
		l.sending = newSending(l)
	}
	if err := l.inadmissible(); err != nil {
		l.refuse(err)
		return
	}
	c := s.c
	if old := c.names[l.key()]; old != nil {
		old.detach(Errorf(CondLinkStolen, "link %q was attached again", l.name))
	}
	c.names[l.key()] = l
	if p.role == roleSender && p.target.address == cbsAddress || p.role == roleReceiver && p.source.address == cbsAddress {
		c.cbs[p.role] = l
	}
	l.running = true
	c.opening = l
}

// node is the terminus on our side.
func (l *link) node() *terminus {
	if l.asked.role == roleSender {
		return l.asked.target
	}
	return l.asked.source
}

// inadmissible tells why a link is refused without asking the Service.
func (l *link) inadmissible() *Error {
	node := l.node()
	switch {
	case node == nil:
		return Errorf(CondInvalidField, "attach of %q without the node's terminus", l.name)
	case node.coordinator:
		return Errorf(CondNotImplemented, "transactions are not emulated")
	case node.dynamic:
		return Errorf(CondNotImplemented, "dynamic nodes are not emulated")
	case node.address == "":
		return Errorf(CondInvalidField, "attach of %q without an address", l.name)
	case node.address == cbsAddress && l.s.c.cbs[l.asked.role] != nil:
		return Errorf(CondNotAllowed, "the connection has a link to %s already", cbsAddress)
	}
	return nil
}

// open asks the Service and answers the attach. It runs on the reader's
// goroutine, so that all that the peer sent after its attach comes after it.
func (l *link) open() {
	a := l.request()
	var options LinkOptions
	var sink Sink
	var source Source
	var err error
	if l.receiving != nil {
		sink, options, err = l.openSink(a)
	} else {
		source, options, err = l.openSource(a)
	}
	c := l.s.c
	c.mu.Lock()
	if err == nil {
		if l.receiving != nil {
			l.receiving.sink = sink
		} else {
			l.sending.source = source
		}
	}
	l.opened(options, err)
	c.mu.Unlock()
	l.run()
}

// request is the attach as the Service sees it.
func (l *link) request() Attach {
	a := Attach{
		Conn:           l.s.c.info,
		Name:           l.name,
		Address:        l.node().address,
		Settled:        l.asked.sndSettleMode == sndSettled,
		ReceiverSecond: l.asked.rcvSettleMode == rcvSecond,
		Capabilities:   l.asked.desired,
		Properties:     l.asked.properties,
		Copies:         l.node().copies,
	}
	peer := l.asked.source
	if l.asked.role == roleReceiver {
		peer = l.asked.target
	}
	if peer != nil {
		a.PeerAddress = peer.address
	}
	if filter := l.node().filter; len(filter) > 0 {
		a.Filters = make(map[string]any, len(filter))
		for name, v := range filter {
			if d, ok := v.(Described); ok {
				v = d.Value
			}
			a.Filters[name] = v
		}
	}
	return a
}

// opened answers the attach with what the Service said, and then does what it
// did meanwhile.
func (l *link) opened(options LinkOptions, err error) {
	refusal := l.refusal
	if err != nil {
		refusal = asError(err)
		if refusal.Condition != CondLinkStolen {
			l.refuse(refusal)
			return
		}
	}
	l.reply(options)
	if err != nil {
		// go-amqp takes amqp:link:stolen as a loss of ownership only from a
		// link that was attached, so there is no Sink or Source to close.
		l.finish()
		l.sendDetach(refusal)
		l.state = linkDetached
		return
	}
	l.state = linkAttached
	switch {
	case refusal != nil:
		l.detach(refusal)
	case l.receiving != nil:
		l.receiving.attached(options)
	default:
		l.sending.attached(options)
	}
}

// refuse answers with an attach without source and target and a detach, by
// which every version of go-amqp knows a refusal.
func (l *link) refuse(reason *Error) {
	l.s.c.send(l.s.local, &attachFrame{
		name:                 l.name,
		handle:               l.local,
		role:                 l.asked.role.other(),
		sndSettleMode:        l.asked.sndSettleMode,
		rcvSettleMode:        l.asked.rcvSettleMode,
		initialDeliveryCount: l.initialDeliveryCount(),
	})
	l.finish()
	l.sendDetach(reason)
	l.state = linkDetached
}

// initialDeliveryCount is mandatory in an attach of a sender only.
func (l *link) initialDeliveryCount() optional {
	if l.sending != nil {
		return some(0)
	}
	return optional{}
}

// reply sends the attach that accepts the link. Settle modes are the peer's:
// go-amqp detaches when it gets others than it asked for.
func (l *link) reply(options LinkOptions) {
	p := &attachFrame{
		name:                 l.name,
		handle:               l.local,
		role:                 l.asked.role.other(),
		sndSettleMode:        l.asked.sndSettleMode,
		rcvSettleMode:        l.asked.rcvSettleMode,
		source:               &terminus{},
		target:               &terminus{},
		initialDeliveryCount: l.initialDeliveryCount(),
		maxMessageSize:       options.MaxMessageSize,
		offered:              options.Capabilities,
		properties:           options.Properties,
	}
	if l.asked.source != nil {
		p.source.address = l.asked.source.address
	}
	if l.asked.target != nil {
		p.target.address = l.asked.target.address
	}
	if l.sending != nil && options.Settled && p.sndSettleMode == sndUnsettled {
		p.sndSettleMode = sndSettled
	}
	p.source.filter = l.describe(options.Filters)
	l.s.c.send(l.s.local, p)
}

// describe gives the filters that the Service grants the descriptors that the
// peer asked with.
func (l *link) describe(granted map[string]any) map[string]any {
	filters := make(map[string]any, len(granted))
	for name, v := range granted {
		d := Described{Descriptor: Symbol(name), Value: v}
		if asked, ok := l.node().filter[name].(Described); ok {
			d.Descriptor = asked.Descriptor
		}
		filters[name] = d
	}
	return filters
}
