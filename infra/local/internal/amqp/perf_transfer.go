package amqp

// flowFrame updates windows and credit (OASIS part 2, section 2.7.4). The link
// fields have a meaning only when handle is set.
type flowFrame struct {
	nextIncomingID optional
	incomingWindow uint32
	nextOutgoingID uint32
	outgoingWindow uint32
	handle         optional
	deliveryCount  optional
	linkCredit     optional
	available      optional
	drain          bool
	echo           bool
}

func (p *flowFrame) decode(f *fields) {
	p.nextIncomingID = f.optUint()
	if f.need("incoming-window") {
		p.incomingWindow = f.uint()
	}
	if f.need("next-outgoing-id") {
		p.nextOutgoingID = f.uint()
	}
	if f.need("outgoing-window") {
		p.outgoingWindow = f.uint()
	}
	p.handle = f.optUint()
	p.deliveryCount = f.optUint()
	p.linkCredit = f.optUint()
	p.available = f.optUint()
	p.drain = f.boolOr(false)
	p.echo = f.boolOr(false)
	_ = f.properties()
}

func (p *flowFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descFlow)
	c.optUint(p.nextIncomingID)
	c.uint(p.incomingWindow)
	c.uint(p.nextOutgoingID)
	c.uint(p.outgoingWindow)
	c.optUint(p.handle)
	c.optUint(p.deliveryCount)
	c.optUint(p.linkCredit)
	c.optUint(p.available)
	c.flag(p.drain)
	c.flag(p.echo)
	c.null(1) // properties
	return c.end(), nil
}

// transferFrame carries a message or a part of one (section 2.7.5); the payload
// follows it in the frame.
type transferFrame struct {
	handle        uint32
	deliveryID    optional
	deliveryTag   []byte // points into the frame
	messageFormat optional
	settled       bool
	more          bool
	aborted       bool
}

func (p *transferFrame) decode(f *fields) {
	if f.need("handle") {
		p.handle = f.uint()
	}
	p.deliveryID = f.optUint()
	p.deliveryTag = f.binaryOr(nil)
	p.messageFormat = f.optUint()
	p.settled = f.boolOr(false)
	p.more = f.boolOr(false)
	f.skip() // rcv-settle-mode
	f.skip() // state: meaningful for resumed deliveries only
	f.skip() // resume
	p.aborted = f.boolOr(false)
}

func (p *transferFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descTransfer)
	c.uint(p.handle)
	c.optUint(p.deliveryID)
	if p.deliveryTag != nil {
		c.binary(p.deliveryTag)
	} else {
		c.null(1)
	}
	c.optUint(p.messageFormat)
	c.flag(p.settled)
	c.flag(p.more)
	c.null(3) // rcv-settle-mode, state, resume
	c.flag(p.aborted)
	c.null(1) // batchable
	return c.end(), nil
}

// dispositionFrame tells the state of deliveries (section 2.7.6).
type dispositionFrame struct {
	role    role
	first   uint32
	last    uint32 // first when absent
	settled bool
	state   deliveryState
}

func (p *dispositionFrame) decode(f *fields) {
	p.role = f.role()
	if f.need("first") {
		p.first = f.uint()
	}
	p.last = f.uintOr(p.first)
	p.settled = f.boolOr(false)
	p.state = f.state()
	_ = f.boolOr(false) // batchable
}

func (p *dispositionFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descDisposition)
	c.role(p.role)
	c.uint(p.first)
	if p.last != p.first {
		c.uint(p.last)
	} else {
		c.null(1)
	}
	c.flag(p.settled)
	err := c.state(p.state)
	c.null(1) // batchable
	return c.end(), err
}
