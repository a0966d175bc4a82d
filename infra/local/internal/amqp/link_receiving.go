package amqp

// receiving is the half of a link whose peer sends.
type receiving struct {
	l          *link
	sink       Sink
	maxMessage uint64 // 0: no limit

	capacity      uint32 // LinkOptions.Credit
	credit        uint32 // what the peer may still send
	unfinished    uint32 // deliveries that the Sink is not done with
	deliveryCount uint32
	flowDue       bool

	// The delivery that is coming in.
	current *received
}

// received is one delivery of the peer's.
type received struct {
	r        *receiving
	id       uint32
	message  Transfer
	size     int64
	tooLarge bool // for the link: what comes of it is dropped
	settled  bool // by the peer
	finished bool // by the Sink
}

func newReceiving(l *link) *receiving {
	return &receiving{l: l, deliveryCount: l.asked.initialDeliveryCount.or(0)}
}

// attached grants the first credit.
func (r *receiving) attached(options LinkOptions) {
	r.maxMessage = options.MaxMessageSize
	if r.capacity = options.Credit; r.capacity == 0 {
		r.capacity = r.l.s.c.options.LinkCredit
	}
	r.sendFlow()
}

// transfer takes one frame of a delivery.
func (r *receiving) transfer(p *transferFrame, payload []byte) {
	if r.l.state != linkAttached {
		return // sent before the peer saw our detach
	}
	d := r.current
	if d == nil {
		if d = r.start(p); d == nil {
			return
		}
	} else if p.deliveryID.ok && p.deliveryID.value != d.id {
		r.l.detach(Errorf(CondNotAllowed, "delivery %d before the end of %d", p.deliveryID.value, d.id))
		return
	}
	if p.aborted {
		r.current = nil
		r.count(-d.size)
		r.next()
		r.replenish()
		return
	}
	if !d.tooLarge && r.maxMessage > 0 && uint64(d.size)+uint64(len(payload)) > r.maxMessage {
		if r.current != nil {
			r.count(-d.size)
		}
		d.message.Payload, d.size, d.tooLarge = nil, 0, true
	}
	if d.tooLarge {
		payload = nil
	}
	d.message.Payload = append(d.message.Payload, payload...)
	d.size += int64(len(payload))
	d.settled = d.settled || p.settled
	if p.more {
		r.current = d
		r.count(int64(len(payload)))
		return
	}
	if r.current != nil {
		r.current = nil
		r.count(int64(len(payload)) - d.size)
	}
	if d.tooLarge {
		r.refuse(d)
		return
	}
	r.complete(d)
}

// refuse rejects a delivery that is too large. The link lives: senders go on
// with what is smaller. Of one that the peer has settled nothing can be told but
// by ending the link.
func (r *receiving) refuse(d *received) {
	reason := Errorf(CondMessageSizeExceeded, "The received message (delivery-id:%d) exceeds the limit (%d bytes) currently allowed on the link '%s'",
		d.id, r.maxMessage, r.l.name)
	if d.settled {
		r.l.detach(reason)
		return
	}
	r.next()
	r.replenish()
	r.l.s.settle(roleReceiver, d.id, true, rejected(reason))
}

// start begins a delivery with its first frame.
func (r *receiving) start(p *transferFrame) *received {
	switch {
	case !p.deliveryID.ok || p.deliveryTag == nil:
		r.l.detach(Errorf(CondInvalidField, "first transfer of a delivery without delivery-id or delivery-tag"))
		return nil
	case r.credit == 0:
		r.l.detach(Errorf(CondTransferLimitExceeded, "transfer on link %q without credit", r.l.name))
		return nil
	}
	return &received{r: r, id: p.deliveryID.value, message: Transfer{Format: p.messageFormat.or(0)}}
}

// count changes the size of what is incomplete on the connection.
func (r *receiving) count(n int64) {
	c := r.l.s.c
	if c.partial += n; c.partial > c.options.MaxBuffered {
		c.close(Errorf(CondResourceLimitExceeded, "more than %d bytes of incomplete messages", c.options.MaxBuffered))
	}
}

// next steps over one delivery.
func (r *receiving) next() {
	r.credit--
	r.deliveryCount++
}

// complete gives a delivery to the Sink.
func (r *receiving) complete(d *received) {
	r.next()
	r.unfinished++
	d.message.Settled = d.settled
	r.l.s.c.held += d.size
	if !d.settled {
		r.l.s.received[d.id] = d
	}
	r.l.post(event{received: d})
}

// done is the Sink's answer to a delivery.
func (d *received) done(err error) {
	r := d.r
	s, c := r.l.s, r.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.finished {
		return
	}
	d.finished = true
	d.message = Transfer{}
	c.release(d.size)
	if r.l.state != linkAttached {
		return
	}
	if r.l.broken(err) {
		return
	}
	r.unfinished--
	r.replenish()
	if d.settled {
		return
	}
	state := accepted
	if err != nil {
		state = rejected(asError(err))
	}
	// In mode second, too, as the service does: Microsoft's Python SDK asks for
	// that mode, and never settles.
	delete(s.received, d.id)
	s.settle(roleReceiver, d.id, true, state)
}

// release takes back what a delivery held of the connection's memory.
func (c *conn) release(size int64) {
	was := c.held
	c.held -= size
	if was >= c.options.MaxBuffered && c.held < c.options.MaxBuffered {
		c.room.Broadcast()
	}
	if half := c.options.MaxBuffered / 2; was >= half && c.held < half {
		for _, s := range c.sessions {
			s.replenish()
		}
	}
}

// replenish has credit granted when half of the link's capacity is free again.
func (r *receiving) replenish() {
	if r.flowDue || r.l.state != linkAttached {
		return
	}
	if free := r.capacity - r.credit - r.unfinished; free >= (r.capacity+1)/2 {
		r.flowDue = true
		r.l.s.flowLinks = append(r.l.s.flowLinks, r.l)
		r.l.s.touch()
	}
}

// sendFlow grants the credit that the Sink has capacity for.
func (r *receiving) sendFlow() {
	r.flowDue = false
	if r.l.state != linkAttached {
		return
	}
	r.credit = r.capacity - r.unfinished
	r.l.s.sendFlow(flowFrame{
		handle:        some(r.l.local),
		deliveryCount: some(r.deliveryCount),
		linkCredit:    some(r.credit),
	})
}

// flow answers a sending peer that asks for our state.
func (r *receiving) flow(p *flowFrame) {
	if p.echo && r.l.state == linkAttached {
		r.sendFlow()
	}
}

func (r *receiving) finish() {
	if r.current != nil {
		r.l.s.c.partial -= r.current.size
		r.current = nil
	}
	for id, d := range r.l.s.received {
		if d.r == r {
			delete(r.l.s.received, id)
		}
	}
}
