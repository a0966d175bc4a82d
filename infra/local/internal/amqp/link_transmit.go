package amqp

import "maps"

// maxTransferHead is the most that a transfer frame needs besides its payload
// and delivery-tag: frame header, descriptor and list header, handle,
// delivery-id, tag head, message-format, three flags and the nulls between.
const maxTransferHead = frameHeaderSize + 3 + 9 + 5 + 5 + 2 + 5 + 8

// turn is how many frames a link sends before the next one has its turn.
const turn = 16

// transmit encodes transfer frames for as long as credit, window and the link's
// turn last.
func (o *sending) transmit() {
	if o.l.state != linkAttached {
		return
	}
	s := o.l.s
	for range turn {
		if !o.sendable() || s.c.closing {
			break
		}
		if s.peerWindow == 0 {
			o.parked = true
			s.parked = append(s.parked, o.l)
			return
		}
		o.transmitFrame()
	}
	o.enqueue()
}

// transmitFrame encodes the next frame of the delivery at the front.
func (o *sending) transmitFrame() {
	s, c := o.l.s, o.l.s.c
	d := o.queue.front()
	p := transferFrame{handle: o.l.local, settled: o.settled}
	if o.current == nil {
		o.current = &sent{o: o, id: s.nextDeliveryID, tag: d.Tag}
		s.nextDeliveryID++
		p.deliveryID = some(o.current.id)
		p.deliveryTag = d.Tag
		p.messageFormat = some(d.Format)
		if !o.settled {
			s.sent[o.current.id] = o.current
		}
	}
	payload := d.Payload[o.offset:]
	if room := c.peerMaxFrame - maxTransferHead - len(p.deliveryTag); len(payload) > room {
		payload = payload[:room]
		p.more = true
	}
	at := len(c.out)
	b, err := p.append(appendFrameHeader(c.out, frameAMQP, s.local))
	if err != nil { // a transfer has no field that can't be encoded
		c.out = b[:at]
		c.close(asError(err))
		return
	}
	c.out = append(b, payload...)
	setFrameSize(c.out, at)
	s.nextOutgoingID++
	s.peerWindow--
	if p.more {
		o.offset += len(payload)
		return
	}
	o.transmitted()
}

// transmitted steps to the next delivery.
func (o *sending) transmitted() {
	o.bytes -= int64(len(o.queue.pop().Payload))
	o.current = nil
	o.offset = 0
	if o.deliveryCount++; o.credit > 0 {
		o.credit--
	}
	if o.starved && !o.full() {
		o.starved = false
		o.changed = true
		o.l.schedule()
	}
	o.drained()
}

// settledBy takes the peer's disposition of one delivery (section 2.6.12).
func (d *sent) settledBy(p *dispositionFrame) {
	if p.settled {
		d.settled = true
		delete(d.o.l.s.sent, d.id)
	}
	if d.outcome != 0 {
		return
	}
	outcome := p.state.outcome
	if p.state.kind != stateOutcome {
		if !p.settled {
			return // not terminal
		}
		// Settled without an outcome: the message was not worked on.
		outcome = Outcome{Kind: Released}
	}
	outcome.Annotations = maps.Clone(outcome.Annotations) // one map per delivery of a range
	d.outcome = outcome.Kind
	d.o.l.post(event{sent: d, outcome: outcome})
}

// done is the Source's answer to a disposition. The service echoes the outcome
// that it applied, without what came with it; clients compare the two.
func (d *sent) done(err error) {
	s, c := d.o.l.s, d.o.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.finished {
		return
	}
	d.finished = true
	if d.o.l.state != linkAttached || d.o.l.broken(err) || d.settled {
		return
	}
	delete(s.sent, d.id)
	state := deliveryState{kind: stateOutcome, outcome: Outcome{Kind: d.outcome}}
	if err != nil {
		state = rejected(asError(err))
	}
	s.settle(roleSender, d.id, true, state)
}
