package amqp

import "strings"

// stateKind says which delivery state a disposition carries.
type stateKind byte

const (
	stateNone    stateKind = iota // no state at all
	stateOutcome                  // one of the four outcomes
	stateOther                    // received: not terminal
	stateTransactional
)

// deliveryState is the state of a delivery (OASIS part 3, section 3.4).
type deliveryState struct {
	kind    stateKind
	outcome Outcome // for stateOutcome
}

var accepted = deliveryState{kind: stateOutcome, outcome: Outcome{Kind: Accepted}}

func rejected(err *Error) deliveryState {
	return deliveryState{kind: stateOutcome, outcome: Outcome{Kind: Rejected, Error: err}}
}

// state reads a delivery state.
func (f *fields) state() deliveryState {
	if !f.present() {
		return deliveryState{}
	}
	code := f.descriptor()
	inner := f.list()
	if f.err != nil {
		return deliveryState{}
	}
	s := deliveryState{kind: stateOutcome}
	switch code {
	case descAccepted:
		s.outcome.Kind = Accepted
	case descReleased:
		s.outcome.Kind = Released
	case descRejected:
		s.outcome.Kind = Rejected
		s.outcome.Error = inner.error()
	case descModified:
		s.outcome.Kind = Modified
		s.outcome.DeliveryFailed = inner.boolOr(false)
		s.outcome.UndeliverableHere = inner.boolOr(false)
		s.outcome.Annotations = inner.properties()
	case descReceived:
		s.kind = stateOther
	case descTransactional:
		s.kind = stateTransactional
	default:
		f.fail("unknown delivery state 0x%x", code)
	}
	if inner.err != nil {
		f.fail("delivery state: %w", inner.err)
	}
	return s
}

// state writes a delivery state, null for none.
func (c *composite) state(s deliveryState) error {
	if s.kind != stateOutcome {
		c.null(1)
		return nil
	}
	c.field()
	var err error
	switch s.outcome.Kind {
	case Accepted:
		c.b = append(c.b, codeDescribed, codeSmallUlong, descAccepted, codeList0)
	case Released:
		c.b = append(c.b, codeDescribed, codeSmallUlong, descReleased, codeList0)
	case Rejected:
		inner := beginComposite(c.b, descRejected)
		err = inner.error(s.outcome.Error)
		c.b = inner.end()
	case Modified:
		inner := beginComposite(c.b, descModified)
		inner.flag(s.outcome.DeliveryFailed)
		inner.flag(s.outcome.UndeliverableHere)
		err = inner.symbolMap(s.outcome.Annotations)
		c.b = inner.end()
	}
	return err
}

// error reads an error (part 2, section 2.8.14), nil when it is null.
func (f *fields) error() *Error {
	if !f.present() {
		return nil
	}
	code := f.descriptor()
	inner := f.list()
	if f.err == nil && code != descError {
		f.fail("descriptor 0x%x where an error belongs", code)
	}
	if f.err != nil {
		return nil
	}
	e := &Error{}
	if inner.need("condition") {
		e.Condition = inner.symbol()
	}
	e.Description = inner.stringOr("")
	e.Info = inner.properties()
	if inner.err != nil {
		f.fail("error: %w", inner.err)
	}
	return e
}

// maxDescription bounds an error's text, so that it fits a frame.
const maxDescription = 4096

// error writes an error, null for nil.
func (c *composite) error(e *Error) error {
	if e == nil {
		c.null(1)
		return nil
	}
	c.field()
	inner := beginComposite(c.b, descError)
	inner.symbol(e.Condition)
	inner.optString(strings.ToValidUTF8(truncate(e.Description, maxDescription), "?"))
	err := inner.symbolMap(e.Info)
	c.b = inner.end()
	return err
}
