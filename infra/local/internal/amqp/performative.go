package amqp

import (
	"fmt"
	"time"
)

// performative is the body of a frame (OASIS part 2, section 2.7).
type performative interface {
	decode(f *fields)
	// append appends the encoded performative. It can fail only on values that
	// the Service gave.
	append(b []byte) ([]byte, error)
}

// scratch holds one of each performative, so that decoding one per frame
// allocates nothing. What decode returns is valid until the next call.
type scratch struct {
	open        openFrame
	begin       beginFrame
	attach      attachFrame
	flow        flowFrame
	transfer    transferFrame
	disposition dispositionFrame
	detach      detachFrame
	end         endFrame
	close       closeFrame
	mechanisms  saslMechanisms
	init        saslInit
	outcome     saslOutcome
}

// decode decodes a frame's body: a performative, and for a transfer the payload
// that follows it. Slices point into body.
func (s *scratch) decode(body []byte) (performative, []byte, error) {
	d := decoder{b: body}
	code := d.descriptor()
	if d.err != nil {
		return nil, nil, d.err
	}
	p := s.performative(code)
	if p == nil {
		return nil, nil, fmt.Errorf("no performative has descriptor 0x%x", code)
	}
	f := d.list()
	if d.err == nil {
		p.decode(&f)
		d.err = f.err
	}
	if d.err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name(p), d.err)
	}
	if code != descTransfer && len(d.b) > 0 {
		return nil, nil, fmt.Errorf("%s: %d bytes too many", name(p), len(d.b))
	}
	return p, d.b, nil
}

func (s *scratch) performative(code uint64) performative {
	switch code {
	case descOpen:
		s.open = openFrame{}
		return &s.open
	case descBegin:
		s.begin = beginFrame{}
		return &s.begin
	case descAttach:
		s.attach = attachFrame{}
		return &s.attach
	case descFlow:
		s.flow = flowFrame{}
		return &s.flow
	case descTransfer:
		s.transfer = transferFrame{}
		return &s.transfer
	case descDisposition:
		s.disposition = dispositionFrame{}
		return &s.disposition
	case descDetach:
		s.detach = detachFrame{}
		return &s.detach
	case descEnd:
		s.end = endFrame{}
		return &s.end
	case descClose:
		s.close = closeFrame{}
		return &s.close
	case descSASLMechanisms:
		s.mechanisms = saslMechanisms{}
		return &s.mechanisms
	case descSASLInit:
		s.init = saslInit{}
		return &s.init
	case descSASLOutcome:
		s.outcome = saslOutcome{}
		return &s.outcome
	default:
		return nil
	}
}

// name is a performative's name for error texts.
func name(p performative) string {
	switch p.(type) {
	case *openFrame:
		return "open"
	case *beginFrame:
		return "begin"
	case *attachFrame:
		return "attach"
	case *flowFrame:
		return "flow"
	case *transferFrame:
		return "transfer"
	case *dispositionFrame:
		return "disposition"
	case *detachFrame:
		return "detach"
	case *endFrame:
		return "end"
	case *closeFrame:
		return "close"
	default:
		return "sasl frame"
	}
}

// openFrame negotiates a connection (section 2.7.1).
type openFrame struct {
	containerID  string
	hostname     string
	maxFrameSize uint32
	channelMax   uint16
	idleTimeout  time.Duration
	properties   map[string]any
}

func (p *openFrame) decode(f *fields) {
	if f.need("container-id") {
		p.containerID = f.string()
	}
	p.hostname = f.stringOr("")
	p.maxFrameSize = f.uintOr(1<<32 - 1)
	p.channelMax = f.ushortOr(1<<16 - 1)
	p.idleTimeout = f.milliseconds()
	f.skip()        // outgoing-locales
	f.skip()        // incoming-locales
	_ = f.symbols() // offered-capabilities
	_ = f.symbols() // desired-capabilities
	p.properties = f.properties()
}

func (p *openFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descOpen)
	c.string(p.containerID)
	c.optString(p.hostname)
	c.uint(p.maxFrameSize)
	c.ushort(p.channelMax)
	if p.idleTimeout > 0 {
		c.ms(p.idleTimeout)
	} else {
		c.null(1)
	}
	c.null(4) // locales and capabilities
	err := c.symbolMap(p.properties)
	return c.end(), err
}

// beginFrame starts a session (section 2.7.2).
type beginFrame struct {
	remoteChannel  optional // a ushort
	nextOutgoingID uint32
	incomingWindow uint32
	outgoingWindow uint32
	handleMax      uint32
}

func (p *beginFrame) decode(f *fields) {
	if f.present() {
		p.remoteChannel = some(uint32(f.ushort()))
	}
	if f.need("next-outgoing-id") {
		p.nextOutgoingID = f.uint()
	}
	if f.need("incoming-window") {
		p.incomingWindow = f.uint()
	}
	if f.need("outgoing-window") {
		p.outgoingWindow = f.uint()
	}
	p.handleMax = f.uintOr(1<<32 - 1)
	_ = f.symbols()
	_ = f.symbols()
	_ = f.properties()
}

func (p *beginFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descBegin)
	if p.remoteChannel.ok {
		c.ushort(uint16(p.remoteChannel.value))
	} else {
		c.null(1)
	}
	c.uint(p.nextOutgoingID)
	c.uint(p.incomingWindow)
	c.uint(p.outgoingWindow)
	c.uint(p.handleMax)
	c.null(3) // capabilities and properties
	return c.end(), nil
}

// detachFrame ends a link, endFrame a session, closeFrame a connection
// (sections 2.7.7 to 2.7.9).
type detachFrame struct {
	handle uint32
	closed bool
	err    *Error
}

func (p *detachFrame) decode(f *fields) {
	if f.need("handle") {
		p.handle = f.uint()
	}
	p.closed = f.boolOr(false)
	p.err = f.error()
}

func (p *detachFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descDetach)
	c.uint(p.handle)
	c.flag(p.closed)
	err := c.error(p.err)
	return c.end(), err
}

type endFrame struct{ err *Error }

func (p *endFrame) decode(f *fields) { p.err = f.error() }

func (p *endFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descEnd)
	err := c.error(p.err)
	return c.end(), err
}

type closeFrame struct{ err *Error }

func (p *closeFrame) decode(f *fields) { p.err = f.error() }

func (p *closeFrame) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descClose)
	err := c.error(p.err)
	return c.end(), err
}
