package amqp

import (
	"slices"
	"testing"
)

func TestPipelinedHandshake(t *testing.T) {
	t.Parallel()
	p := rawServe(t, discardService{}, Options{})
	transfer := &transferFrame{handle: 0, deliveryID: some(0), deliveryTag: []byte{1}, messageFormat: some(0)}
	p.write(
		headerSASL[:], encoded(t, frameSASL, 0, &saslInit{mechanism: "ANONYMOUS"}),
		headerAMQP[:], encoded(t, frameAMQP, 0, openRequest()),
		encoded(t, frameAMQP, 0, beginRequest()),
		encoded(t, frameAMQP, 0, attachRequest(0, roleSender)),
		encoded(t, frameAMQP, 0, attachRequest(1, roleReceiver)),
		encoded(t, frameAMQP, 0, &flowFrame{nextIncomingID: some(0), incomingWindow: 10, outgoingWindow: 10, handle: some(1), linkCredit: some(5), echo: true}),
	)
	p.expectHeader(headerSASL)
	if got := expect[*saslMechanisms](p).mechanisms; !slices.Equal(got, []string{"ANONYMOUS", "MSSBCBS", "PLAIN"}) {
		t.Errorf("mechanisms %v", got)
	}
	if got := expect[*saslOutcome](p).code; got != saslOK {
		t.Fatalf("outcome %d", got)
	}
	p.expectHeader(headerAMQP)
	if got := expect[*openFrame](p); got.maxFrameSize != 65536 || got.channelMax != 4999 || got.idleTimeout == 0 {
		t.Errorf("open %+v", got)
	}
	if got := expect[*beginFrame](p); got.remoteChannel != some(0) {
		t.Errorf("begin %+v", got)
	}
	var attaches, flows int
	for attaches < 2 || flows < 2 {
		switch v := p.next().(type) {
		case *attachFrame:
			attaches++
		case *flowFrame:
			flows++
			if v.handle.ok && v.deliveryCount.or(9) != 0 {
				t.Errorf("flow %+v", v)
			}
		default:
			t.Fatalf("got %s", name(v))
		}
	}
	p.write(encoded(t, frameAMQP, 0, transfer, 0, 0x53, 0x75, codeBinary8, 1, 'x')) // one data section
	if got := expect[*dispositionFrame](p); got.role != roleReceiver || got.first != 0 || !got.settled || got.state.outcome.Kind != Accepted {
		t.Errorf("disposition %+v", got)
	}
	p.send(&closeFrame{})
	if got := expect[*closeFrame](p); got.err != nil {
		t.Errorf("close %+v", got.err)
	}
	p.expectEOF()
}

func TestWrongProtocolHeader(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"AMQP\x02\x01\x00\x00", "AMQP\x00\x00\x09\x01", "GET / HT"} {
		p := rawServe(t, discardService{}, Options{})
		p.write([]byte(header))
		p.expectHeader(headerSASL)
		p.expectEOF()
	}
}

func TestUnknownMechanism(t *testing.T) {
	t.Parallel()
	p := rawServe(t, discardService{}, Options{})
	p.write(headerSASL[:], encoded(t, frameSASL, 0, &saslInit{mechanism: "EXTERNAL"}))
	p.expectHeader(headerSASL)
	expect[*saslMechanisms](p)
	if got := expect[*saslOutcome](p).code; got != saslAuth {
		t.Errorf("outcome %d", got)
	}
	p.expectEOF()
}

func TestOpenRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		frame []byte
		want  string
	}{
		{"no open", encoded(t, frameAMQP, 0, beginRequest()), CondNotAllowed},
		{"small frames", encoded(t, frameAMQP, 0, &openFrame{containerID: "raw", maxFrameSize: 100}), CondInvalidField},
		{"no container-id", []byte{0, 0, 0, 12, 2, 0, 0, 0, 0, 0x53, descOpen, codeList0}, CondDecodeError},
		{"sasl frame", encoded(t, frameSASL, 0, openRequest()), CondFramingError},
	}
	for _, c := range cases {
		p := rawServe(t, discardService{}, Options{})
		p.write(headerAMQP[:], c.frame)
		p.expectHeader(headerAMQP)
		expect[*openFrame](p)
		if got := expect[*closeFrame](p).err; got == nil || got.Condition != c.want {
			t.Errorf("%s: closed with %v, want %s", c.name, got, c.want)
		}
	}
}
