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
	c.symbols(p.mechanisms)
	return c.end(), nil
}

// saslInit picks one (section 5.3.3.2).
type saslInit struct {
	mechanism string
	response  []byte // points into the frame
}

func (p *saslInit) decode(f *fields) {
	if f.need("mechanism") {
		p.mechanism = f.symbol()
	}
	p.response = f.binaryOr(nil)
	_ = f.stringOr("") // hostname
}

func (p *saslInit) append(b []byte) ([]byte, error) {
	c := beginComposite(b, descSASLInit)
	c.symbol(p.mechanism)
	if p.response != nil {
		c.binary(p.response)
	} else {
		c.null(1)
	}
	c.null(1) // hostname
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
	c.null(1) // additional-data
	return c.end(), nil
}
