package amqp

// Settle modes (OASIS part 2, sections 2.8.2 and 2.8.3).
const (
	sndUnsettled byte = iota
	sndSettled
	sndMixed
)

const (
	rcvFirst byte = iota
	rcvSecond
)

// role says which end of a link or of a session speaks (section 2.8.1); on the
// wire it is a boolean.
type role byte

const (
	roleSender role = iota
	roleReceiver
)

func (r role) other() role { return roleReceiver - r }

func (f *fields) role() role {
	if f.need("role") && f.bool() {
		return roleReceiver
	}
	return roleSender
}

func (c *composite) role(r role) { c.bool(r == roleReceiver) }

// attachFrame starts a link (section 2.7.3).
type attachFrame struct {
	name                 string
	handle               uint32
	role                 role
	sndSettleMode        byte
	rcvSettleMode        byte
	source               *terminus
	target               *terminus
	initialDeliveryCount optional
	maxMessageSize       uint64
	offered, desired     []string // capabilities
	properties           map[string]any
}

func (p *attachFrame) decode(f *fields) {
	if f.need("name") {
		p.name = f.string()
	}
	if f.need("handle") {
		p.handle = f.uint()
	}
	p.role = f.role()
	if p.sndSettleMode = f.ubyteOr(sndMixed); p.sndSettleMode > sndMixed {
		f.fail("snd-settle-mode %d", p.sndSettleMode)
	}
	if p.rcvSettleMode = f.ubyteOr(rcvFirst); p.rcvSettleMode > rcvSecond {
		f.fail("rcv-settle-mode %d", p.rcvSettleMode)
	}
	p.source = f.terminus(true)
	p.target = f.terminus(false)
	f.skip() // unsettled: links are not resumed
	f.skip() // incomplete-unsettled
	p.initialDeliveryCount = f.optUint()
	p.maxMessageSize = f.ulongOr(0)
	p.offered = f.symbols()
	p.desired = f.symbols()
	p.properties = f.properties()
}

func (p *attachFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descAttach)
	c.string(p.name)
	c.uint(p.handle)
	c.role(p.role)
	c.ubyte(p.sndSettleMode)
	c.ubyte(p.rcvSettleMode)
	if err := c.terminus(p.source, descSource); err != nil {
		return c.b, err
	}
	if err := c.terminus(p.target, descTarget); err != nil {
		return c.b, err
	}
	c.null(2) // unsettled and incomplete-unsettled
	c.optUint(p.initialDeliveryCount)
	if p.maxMessageSize > 0 {
		c.ulong(p.maxMessageSize)
	} else {
		c.null(1)
	}
	c.symbols(p.offered)
	c.symbols(p.desired)
	err := c.symbolMap(p.properties)
	return c.end(), err
}

// distributionCopy is the distribution-mode of a source whose messages stay
// (part 3, section 3.5.7).
const distributionCopy = "copy"

// terminus is a link's source or target (part 3, sections 3.5.3 and 3.5.4), as
// far as the Server knows it.
type terminus struct {
	address     string
	dynamic     bool
	coordinator bool // the target of transactions (part 4, section 4.5.1)
	copies      bool // a source whose messages stay (distribution-mode copy)
	filter      map[string]any
}

// terminus reads a source or a target, nil when it is null.
func (f *fields) terminus(source bool) *terminus {
	if !f.present() {
		return nil
	}
	code := f.descriptor()
	inner := f.list()
	t := &terminus{}
	switch {
	case f.err != nil:
	case code == descCoordinator && !source:
		t.coordinator = true
	case code == descSource && source, code == descTarget && !source:
		t.decode(&inner, source)
	default:
		f.fail("descriptor 0x%x where a terminus belongs", code)
	}
	if inner.err != nil {
		f.fail("terminus: %w", inner.err)
	}
	return t
}

func (t *terminus) decode(f *fields, source bool) {
	t.address = f.stringOr("")
	f.skip() // durable
	f.skip() // expiry-policy
	f.skip() // timeout
	t.dynamic = f.boolOr(false)
	f.skip() // dynamic-node-properties
	if source {
		t.copies = f.present() && f.symbol() == distributionCopy
		t.filter = f.properties()
	}
}

// terminus writes a source or a target, null for nil.
func (c *composite) terminus(t *terminus, descriptor byte) error {
	if t == nil {
		c.null(1)
		return nil
	}
	c.field()
	inner := beginComposite(c.b, descriptor)
	inner.string(t.address)
	inner.null(3) // durable, expiry-policy, timeout
	inner.flag(t.dynamic)
	if descriptor == descTarget {
		inner.null(2) // dynamic-node-properties, capabilities
		c.b = inner.end()
		return nil
	}
	inner.null(1) // dynamic-node-properties
	if t.copies {
		inner.symbol(distributionCopy)
	} else {
		inner.null(1)
	}
	err := inner.symbolMap(t.filter)
	inner.null(3) // default-outcome, outcomes, capabilities
	c.b = inner.end()
	return err
}

// symbols writes an array of symbols, null when it is empty.
func (c *composite) symbols(list []string) {
	if len(list) == 0 {
		c.null(1)
		return
	}
	c.field()
	c.b = arrayOf(c.b, codeSymbol32, list, appendSized[string])
}

// symbolMap writes a map with symbolic keys, null when it is empty.
func (c *composite) symbolMap(m map[string]any) error {
	if len(m) == 0 {
		c.null(1)
		return nil
	}
	c.field()
	var err error
	c.b, err = appendMap(c.b, m, appendSymbol)
	return err
}
