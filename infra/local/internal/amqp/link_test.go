package amqp

import (
	"context"
	"testing"
)

func TestRefusedTermini(t *testing.T) {
	t.Parallel()
	change := func(f func(*attachFrame)) *attachFrame {
		p := attachRequest(0, roleSender)
		f(p)
		return p
	}
	coordinator := []byte{0, 0x53, descAttach, codeList8, 0, 7, codeString8, 1, 'a', codeUint0, codeFalse, codeNull, codeNull, codeNull,
		0, 0x53, descCoordinator, codeList0}
	coordinator[4] = byte(len(coordinator) - 5)
	encode := func(p performative) []byte {
		b, err := p.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cases := []struct {
		name string
		body []byte
		want string
	}{
		{"no target", encode(change(func(p *attachFrame) { p.target = nil })), CondInvalidField},
		{"no address", encode(change(func(p *attachFrame) { p.target.address = "" })), CondInvalidField},
		{"dynamic target", encode(change(func(p *attachFrame) { p.target.dynamic = true })), CondNotImplemented},
		{"coordinator", coordinator, CondNotImplemented},
	}
	p := begun(t, discardService{}, Options{})
	for _, c := range cases {
		frame := append(appendFrameHeader(nil, frameAMQP, 0), c.body...)
		setFrameSize(frame, 0)
		p.write(frame)
		if got := expect[*attachFrame](p); got.source != nil || got.target != nil || got.role != roleReceiver {
			t.Errorf("%s: attach %+v", c.name, got)
		}
		if got := expect[*detachFrame](p); !got.closed || got.err == nil || got.err.Condition != c.want {
			t.Errorf("%s: detach %+v", c.name, got)
		}
		p.send(&detachFrame{handle: 0, closed: true})
	}
}

// A detach ends the link even if it is not meant to close it.
func TestDetachWithoutClosed(t *testing.T) {
	t.Parallel()
	p := attached(t, roleSender, discardService{}, Options{})
	p.send(&detachFrame{handle: 0})
	if got := expect[*detachFrame](p); !got.closed || got.err != nil {
		t.Errorf("detach %+v", got)
	}
	p.send(attachRequest(0, roleSender))
	expect[*attachFrame](p)
}

func TestAbortedDelivery(t *testing.T) {
	t.Parallel()
	service := &recordingService{transfers: make(chan Transfer, 10)}
	p := attached(t, roleSender, service, Options{})
	first, abort := transferOf(0, 0), transferOf(0, 0)
	first.more, abort.aborted = true, true
	p.write(encoded(t, frameAMQP, 0, first, []byte("never")...))
	p.send(abort)
	p.write(encoded(t, frameAMQP, 0, transferOf(0, 1), []byte("whole")...))
	if got := <-service.transfers; string(got.Payload) != "whole" {
		t.Errorf("transfer %q", got.Payload)
	}
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, handle: some(0), echo: true})
	for {
		if flow, ok := p.next().(*flowFrame); ok {
			if flow.deliveryCount != some(2) {
				t.Errorf("flow %+v", flow)
			}
			return
		}
	}
}

// recordingService passes on what it gets.
type recordingService struct {
	discardService
	transfers chan Transfer
}

func (s *recordingService) OpenSink(context.Context, Attach) (Sink, LinkOptions, error) {
	return s, LinkOptions{}, nil
}

func (s *recordingService) Transfer(t Transfer, done func(error)) {
	s.transfers <- t
	done(nil)
}

func (s *recordingService) Close() {}

// A sender that settles by itself gets no disposition any more.
func TestSenderSettlesFirst(t *testing.T) {
	t.Parallel()
	service := &holdingService{}
	p := attached(t, roleSender, service, Options{})
	p.send(transferOf(0, 0), transferOf(0, 1), &dispositionFrame{role: roleSender, first: 0, last: 0, settled: true})
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, echo: true})
	expect[*flowFrame](p) // all of it has arrived
	service.finish()
	if got := expect[*dispositionFrame](p); got.first != 1 || got.last != 1 {
		t.Errorf("disposition %+v", got)
	}
}

func TestDispositionsWithoutOutcome(t *testing.T) {
	t.Parallel()
	service := newOutcomeService()
	p := attached(t, roleReceiver, service, Options{})
	p.send(credit(p, 0, 10, 10))
	expect[*flowFrame](p)
	out := <-service.opened
	for range 2 {
		if !out.Send(Delivery{Tag: []byte("t")}) {
			t.Fatal("not sent")
		}
		expect[*transferFrame](p)
	}
	p.send(
		&dispositionFrame{role: roleReceiver, first: 0, last: 1},                // not settled, no outcome: nothing
		&dispositionFrame{role: roleReceiver, first: 0, last: 0, settled: true}, // settled without an outcome
		&dispositionFrame{role: roleReceiver, first: 1, last: 1, settled: true, state: accepted},
		&dispositionFrame{role: roleReceiver, first: 0, last: 1, settled: true, state: accepted}, // known already
	)
	for _, want := range []OutcomeKind{Released, Accepted} {
		if got := <-service.outcomes; got != want {
			t.Errorf("outcome %v, want %v", got, want)
		}
	}
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, echo: true})
	expect[*flowFrame](p) // and no disposition, since the peer settled
}

// outcomeService passes on what the peer settled with.
type outcomeService struct {
	*queueService
	outcomes chan OutcomeKind
}

func newOutcomeService() *outcomeService {
	return &outcomeService{queueService: newQueueService(), outcomes: make(chan OutcomeKind, 10)}
}

func (s *outcomeService) OpenSource(_ context.Context, _ Attach, out Outgoing) (Source, LinkOptions, error) {
	s.opened <- out
	return s, LinkOptions{}, nil
}

func (s *outcomeService) Settle(_ []byte, outcome Outcome, done func(error)) {
	s.outcomes <- outcome.Kind
	done(nil)
}

// A connection whose Sinks hold all that it may buffer is not read.
func TestReaderWaitsForSinks(t *testing.T) {
	t.Parallel()
	service := &holdingService{arrived: make(chan struct{}, 10)}
	p := attached(t, roleSender, service, Options{MaxBuffered: 1000})
	p.write(encoded(t, frameAMQP, 0, transferOf(0, 0), make([]byte, 1000)...))
	p.write(encoded(t, frameAMQP, 0, transferOf(0, 1), 'x'))
	<-service.arrived
	select {
	case <-service.arrived:
		t.Error("the second message was read")
	default:
	}
	service.finish()
	<-service.arrived
	service.finish()
}

func TestServerCloses(t *testing.T) {
	t.Parallel()
	service := newQueueService()
	p := attached(t, roleReceiver, service, Options{})
	<-service.opened
	closed := make(chan error, 1)
	go func() { closed <- p.server.Close() }()
	if got := expect[*closeFrame](p).err; got == nil || got.Condition != CondConnectionForced {
		t.Errorf("closed with %v", got)
	}
	p.send(&closeFrame{})
	p.expectEOF()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	<-service.closed
}
