package amqp

// sending is the half of a link whose peer receives. It is the Service's
// Outgoing.
type sending struct {
	l       *link
	source  Source
	settled bool // transfers are sent settled

	credit        uint32 // what the peer allows, the queue not taken off
	deliveryCount uint32
	draining      bool // the peer wants its credit used up
	asked         int  // how often the Source was told so
	answered      int  // the last of them that it has answered

	queue   fifo[Delivery]
	bytes   int64 // payloads in queue
	current *sent // the delivery at the front, once its first frame is out
	offset  int   // how much of its payload is out

	changed bool // the Source is to be told its credit
	telling bool // it is being told
	starved bool // Send said no though the peer gave credit: the queue was full
	waiting bool // in the connection's ready list
	parked  bool // in the session's parked list
}

// sent is a delivery of ours that the peer has not settled.
type sent struct {
	o        *sending
	id       uint32
	tag      []byte
	outcome  OutcomeKind // what the peer gave, 0 for nothing yet
	settled  bool        // the peer settled it
	finished bool        // the Source is done with it
}

func newSending(l *link) *sending { return &sending{l: l} }

func (o *sending) attached(options LinkOptions) {
	o.settled = options.Settled || o.l.asked.sndSettleMode == sndSettled
}

// Send implements Outgoing.
func (o *sending) Send(d Delivery) bool {
	c := o.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.l.state != linkAttached || c.closing || o.available() == 0 {
		return false
	}
	if o.full() {
		o.starved = true
		return false
	}
	o.queue.push(d)
	o.bytes += int64(len(d.Payload))
	o.enqueue()
	return true
}

// full tells that the queue holds enough; one delivery always has room.
func (o *sending) full() bool {
	return o.queue.len() > 0 && o.bytes >= o.l.s.c.options.LinkBuffer
}

// Detach implements Outgoing.
func (o *sending) Detach(reason *Error) {
	c := o.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.l.state != linkOpening && o.l.state != linkAttached {
		return
	}
	if reason == nil {
		reason = Errorf(CondDetachForced, "the service detached the link")
	}
	o.l.detach(reason)
	// Not here: the Service may hold a lock that its Close needs.
	c.wg.Go(c.runLinks)
}

// available is how many deliveries the peer allows beyond those queued.
func (o *sending) available() uint32 {
	if queued := uint32(o.queue.len()); queued < o.credit {
		return o.credit - queued
	}
	return 0
}

// sendable tells whether credit allows a frame. A delivery that was started is
// finished even if the peer takes its credit back.
func (o *sending) sendable() bool {
	return o.queue.len() > 0 && (o.credit > 0 || o.current != nil)
}

// enqueue puts the link into the connection's ready list if it can send.
func (o *sending) enqueue() {
	if o.waiting || o.parked || !o.sendable() {
		return
	}
	o.waiting = true
	o.l.s.c.ready.push(o.l)
	o.l.s.c.wakeWriter()
}

// flow takes the credit that a receiving peer gives (section 2.6.7).
func (o *sending) flow(p *flowFrame) {
	if o.l.state != linkAttached {
		return
	}
	if p.linkCredit.ok {
		o.credit = remaining(p.linkCredit.value, o.deliveryCount, p.deliveryCount.or(0))
		o.changed = true
	}
	if o.draining = p.drain; o.draining {
		o.changed = true // the Source is asked anew
	}
	o.enqueue()
	o.l.schedule()
	if p.echo && !p.drain {
		o.sendFlow(false)
	}
}

// news tells whether the Source is to be told its credit, and what it is.
func (o *sending) news() (uint32, bool) {
	if !o.changed || o.l.state != linkAttached {
		return 0, false
	}
	o.changed = false
	o.telling = true
	if o.full() {
		o.starved = true
		return 0, true
	}
	return o.available(), true
}

// tell gives the Source its credit, without mu, and asks it to tell when it has
// no more for a peer that drains.
func (o *sending) tell(credit uint32) {
	c := o.l.s.c
	c.mu.Lock()
	var emptied func()
	if o.draining {
		o.asked++
		n := o.asked
		emptied = func() { o.emptied(n) }
	}
	c.mu.Unlock()
	o.source.Credit(credit, emptied)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.telling = false
	o.drained()
}

// emptied is the Source's answer to the nth question of a drain.
func (o *sending) emptied(n int) {
	c := o.l.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	o.answered = max(o.answered, n)
	o.drained()
}

// drained ends a drain: when nothing is left that can be sent, what is left of
// the credit is used up and the peer is told so (section 2.6.7). go-amqp drains
// with a credit of 0, so that the queue may have to wait for later credit.
func (o *sending) drained() {
	if !o.draining || o.changed || o.telling || o.starved || o.answered < o.asked || o.sendable() || o.l.state != linkAttached {
		return
	}
	o.draining = false
	o.deliveryCount += o.credit
	if o.credit > 0 {
		o.credit = 0
		o.changed = true
		o.l.schedule()
	}
	o.sendFlow(true)
}

func (o *sending) sendFlow(drain bool) {
	o.l.s.sendFlow(flowFrame{
		handle:        some(o.l.local),
		deliveryCount: some(o.deliveryCount),
		linkCredit:    some(o.credit),
		available:     some(uint32(o.queue.len())),
		drain:         drain,
	})
}

func (o *sending) finish() {
	o.queue = fifo[Delivery]{}
	o.bytes = 0
	o.current = nil
	for id, d := range o.l.s.sent {
		if d.o == o {
			delete(o.l.s.sent, id)
		}
	}
}
