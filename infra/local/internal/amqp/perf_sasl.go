package amqp

// SASL outcome codes (OASIS part 5, section 5.3.3.6).
const (
	saslOK   byte = 0
	saslAuth byte = 1
)

// saslMechanisms offers mechanisms (section 5.3.3.1).
type saslMechanisms struct{ mechanisms []string }

func (p *saslMechanisms) decode(f *fields) { p.mechanisms = f.symbols() }

func (p *saslMechanisms) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descSASLMechanisms)
	list := make([]Symbol, len(p.mechanisms))
	for i, m := range p.mechanisms {
		list[i] = Symbol(m)
	}
	c.field()
	var err error
	c.b, err = appendValue(c.b, list)
	return c.end(), err
}

// saslInit picks one (section 5.3.3.2).
type saslInit struct{ mechanism string }

func (p *saslInit) decode(f *fields) {
	if f.need("mechanism") {
		p.mechanism = f.symbol()
	}
	_ = f.binaryOr(nil) // initial-response
	_ = f.stringOr("")  // hostname
}

func (p *saslInit) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descSASLInit)
	c.symbol(p.mechanism)
	return c.end(), nil
}

// saslOutcome ends the SASL exchange (section 5.3.3.6).
type saslOutcome struct{ code byte }

func (p *saslOutcome) decode(f *fields) {
	if f.need("code") {
		p.code = f.ubyte()
	}
	_ = f.binaryOr(nil) // additional-data
}

func (p *saslOutcome) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descSASLOutcome)
	c.ubyte(p.code)
	return c.end(), nil
}
