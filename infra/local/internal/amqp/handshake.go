package amqp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// protocolHeader is what each side sends first (OASIS part 2, section 2.2).
type protocolHeader [8]byte

var (
	headerAMQP = protocolHeader{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
	headerSASL = protocolHeader{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
)

// mechanisms are the SASL mechanisms on offer. The first two don't prove who the
// peer is: that is $cbs's task. PLAIN is for clients that know nothing of $cbs.
var mechanisms = []string{"ANONYMOUS", "MSSBCBS", mechanismPlain}

const mechanismPlain = "PLAIN"

// handshake takes the connection from the protocol header to both opens. What
// a peer pipelines after its open stays in the reader. A peer may do without
// the SASL layer.
func (c *conn) handshake() error {
	h, err := c.frames.header()
	if err != nil {
		return fmt.Errorf("read protocol header: %w", err)
	}
	if c.options.HTTP != nil && h.speaksHTTP() {
		return c.answerHTTP()
	}
	if h == headerSASL {
		if err := c.sasl(); err != nil {
			return fmt.Errorf("sasl: %w", err)
		}
		if h, err = c.frames.header(); err != nil {
			return fmt.Errorf("read protocol header after sasl: %w", err)
		}
		if h != headerAMQP {
			return c.wrongHeader(h, headerAMQP)
		}
	}
	if h != headerAMQP {
		return c.wrongHeader(h, headerSASL)
	}
	if err := c.writeNow(headerAMQP[:]); err != nil {
		return err
	}
	return c.open()
}

// wrongHeader answers a header that is not served with one that is (section
// 2.2: "the socket ... is then closed").
func (c *conn) wrongHeader(got, want protocolHeader) error {
	return errors.Join(fmt.Errorf("protocol header %q is not served", got[:]), c.writeNow(want[:]))
}

// sasl runs the SASL layer up to its outcome (part 5, section 5.3).
func (c *conn) sasl() error {
	b, err := appendFrame(headerSASL[:], frameSASL, 0, &saslMechanisms{mechanisms: mechanisms})
	if err != nil {
		return err
	}
	if err := c.writeNow(b); err != nil {
		return err
	}
	p, err := c.expect(frameSASL)
	if err != nil {
		return err
	}
	init, ok := p.(*saslInit)
	if !ok {
		return fmt.Errorf("%s where sasl-init belongs", name(p))
	}
	outcome := saslOutcome{code: saslOK}
	if err = c.signIn(init); err != nil {
		outcome.code = saslAuth
	}
	b, encodeErr := appendFrame(nil, frameSASL, 0, &outcome)
	return errors.Join(err, encodeErr, c.writeNow(b))
}

// signIn lets in who chose a mechanism that asks for nothing, and whom the
// Service knows by PLAIN (RFC 4616): an authorization identity, which is not
// looked at, a name and a password, with a NUL between them.
func (c *conn) signIn(init *saslInit) error {
	if !slices.Contains(mechanisms, init.mechanism) {
		return fmt.Errorf("mechanism %q is not offered", init.mechanism)
	}
	if init.mechanism != mechanismPlain {
		return nil
	}
	parts := strings.Split(string(init.response), "\x00")
	if len(parts) != 3 {
		return errors.New("PLAIN without a name and a password")
	}
	if err := c.server.service.SignIn(c.ctx, parts[1], parts[2]); err != nil {
		return err
	}
	c.info.User = parts[1]
	return nil
}

// open reads the peer's open and answers it.
func (c *conn) open() error {
	p, err := c.expect(frameAMQP)
	open, ok := p.(*openFrame)
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("read open: %w", err), c.writeOpen(asError(err)))
	case !ok:
		err = Errorf(CondNotAllowed, "%s where open belongs", name(p))
		return errors.Join(err, c.writeOpen(asError(err)))
	case open.maxFrameSize < minMaxFrameSize:
		err = Errorf(CondInvalidField, "max-frame-size %d is below %d", open.maxFrameSize, minMaxFrameSize)
		return errors.Join(err, c.writeOpen(asError(err)))
	}
	c.peerMaxFrame = int(min(open.maxFrameSize, c.options.MaxFrameSize))
	c.peerChannelMax = open.channelMax
	c.peerIdle = open.idleTimeout
	c.info.ContainerID = open.containerID
	c.info.Hostname = open.hostname
	c.info.UserAgent, _ = open.properties["user-agent"].(string)
	return c.writeOpen(nil)
}

// writeOpen sends our open and, for a peer that is refused, a close.
func (c *conn) writeOpen(refusal *Error) error {
	b, err := appendFrame(nil, frameAMQP, 0, &openFrame{
		containerID:  c.options.ContainerID,
		maxFrameSize: c.options.MaxFrameSize,
		channelMax:   c.options.ChannelMax,
		idleTimeout:  c.options.IdleTimeout,
	})
	if err == nil && refusal != nil {
		b, err = appendFrame(b, frameAMQP, 0, &closeFrame{err: refusal})
	}
	return errors.Join(err, c.writeNow(b))
}

// expect reads the next performative of the handshake.
func (c *conn) expect(kind byte) (performative, error) {
	for {
		f, err := c.next()
		if err != nil {
			return nil, err
		}
		if f.kind != kind {
			return nil, Errorf(CondFramingError, "frame type %d where %d belongs", f.kind, kind)
		}
		if len(f.body) == 0 {
			continue
		}
		p, _, err := c.scratch.decode(f.body)
		if err != nil {
			return nil, &Error{Condition: CondDecodeError, Description: err.Error()}
		}
		return p, nil
	}
}

// writeNow writes during the handshake, when no writer runs yet.
func (c *conn) writeNow(b []byte) error {
	if err := c.net.SetWriteDeadline(time.Now().Add(c.options.HandshakeTimeout)); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := c.net.Write(b); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
