package amqp_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"

	goamqp "github.com/Azure/go-amqp"
)

// faults returns an injector without a plan, and what gives it one with a
// single point.
func faults(t *testing.T) (*fault.Injector, func(p fault.Point, rate, slowSeconds float64)) {
	t.Helper()
	in := fault.New()
	return in, func(p fault.Point, rate, slowSeconds float64) {
		t.Helper()
		if err := in.Set(fault.Plan{Rates: map[fault.Point]float64{p: rate}, SlowSeconds: slowSeconds}); err != nil {
			t.Fatal(err)
		}
	}
}

func wantHits(t *testing.T, in *fault.Injector, p fault.Point) {
	t.Helper()
	if c := in.Counts()[p]; c.Hit == 0 {
		t.Errorf("%s was not hit: %+v", p, c)
	}
}

// sends tells whether a new connection takes a message through.
func sends(t *testing.T, address string) error {
	t.Helper()
	conn, err := goamqp.Dial(testContext(t), "amqp://"+address, &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it may be cut
	s, err := conn.NewSession(testContext(t), nil)
	if err != nil {
		return err
	}
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		return err
	}
	return sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil)
}

func TestConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	in, plan := faults(t)
	sink := newSink()
	address := serve(t, &fakeService{openSink: sink.open}, amqp.Options{Faults: in})
	plan(fault.AMQPRefuse, 1, 0)
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if n, err := nc.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := sends(t, address); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a refused connection: %v", err)
	}
	wantHits(t, in, fault.AMQPRefuse)
	plan(fault.AMQPRefuse, 0, 0)
	if err := sends(t, address); err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreCutByFrames: in the handshake and after it, without the
// frame having had any effect.
func TestConnectionsAreCutByFrames(t *testing.T) {
	t.Parallel()
	in, plan := faults(t)
	sink := newSink()
	address := serve(t, &fakeService{openSink: sink.open}, amqp.Options{Faults: in})
	sender, err := newSession(t, dial(t, address)).NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan(fault.AMQPDrop, 1, 0)
	err = sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil)
	if _, ok := errors.AsType[*goamqp.ConnError](err); !ok {
		t.Errorf("send on a connection that is cut: %v", err)
	}
	wait(t, "the end of the sink", sink.closed)
	if n := len(sink.received()); n > 0 {
		t.Errorf("the sink has %d transfers", n)
	}
	if err := sends(t, address); err == nil {
		t.Error("a handshake came through")
	}
	wantHits(t, in, fault.AMQPDrop)
	plan(fault.AMQPDrop, 0, 0)
	if err := sends(t, address); err != nil {
		t.Error(err)
	}
}

func TestFramesWait(t *testing.T) {
	t.Parallel()
	in, plan := faults(t)
	sink := newSink()
	address := serve(t, &fakeService{openSink: sink.open}, amqp.Options{Faults: in})
	plan(fault.AMQPSlow, 1, 0.002)
	if err := sends(t, address); err != nil {
		t.Error(err)
	}
	wantHits(t, in, fault.AMQPSlow)
	// A frame that waits keeps nobody from closing: serve does so at the end.
	sender, err := newSession(t, dial(t, address)).NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan(fault.AMQPSlow, 1, 600)
	before := in.Counts()[fault.AMQPSlow].Hit
	if _, err := sender.SendWithReceipt(testContext(t), goamqp.NewMessage([]byte("x")), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the wait of a frame", func() bool { return in.Counts()[fault.AMQPSlow].Hit > before })
	if n := len(sink.received()); n != 1 {
		t.Errorf("the sink has %d transfers, and not only the first", n)
	}
}

// TestAnswersCut: ErrCut in place of an answer ends the connection without
// one, to a transfer, to a disposition, to a request, to a token.
func TestAnswersCut(t *testing.T) {
	t.Parallel()
	sink, source := newSink(), newSource(deliveries(t, 1, []byte("x"))...)
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) { done(amqp.ErrCut) }
	source.onSettle = func(amqp.Outcome) error { return amqp.ErrCut }
	address := serve(t, &fakeService{
		openSink: sink.open, openSource: source.open,
		request:  func(context.Context, amqp.Request) (amqp.Response, error) { return amqp.Response{}, amqp.ErrCut },
		putToken: func(context.Context, amqp.Token) error { return amqp.ErrCut },
	}, amqp.Options{})
	lost := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*goamqp.ConnError](err); !ok {
			t.Errorf("%s: got %v, want a lost connection", what, err)
		}
	}
	lost("transfer", sends(t, address))
	wait(t, "the end of the sink", sink.closed)

	r := receiver(t, newSession(t, dial(t, address)), &goamqp.ReceiverOptions{SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
	lost("disposition", r.AcceptMessage(testContext(t), receive(t, r)))
	wait(t, "the end of the source", source.closed)

	for node, properties := range map[string]map[string]any{"orders/$management": {"operation": "peek"}, "$cbs": putTokenProperties()} {
		links := newRPCLinks(t, dial(t, address), node, 1)
		// The request itself may still be acknowledged, or not.
		_, err := links.sender.SendWithReceipt(testContext(t), &goamqp.Message{
			Properties:            &goamqp.MessageProperties{MessageID: "1", ReplyTo: &links.replyTo},
			ApplicationProperties: properties, Value: "v",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = links.receiver.Receive(testContext(t), nil)
		lost(node, err)
	}
}

// TestAnswersDetach: a DetachError in place of an answer ends the link with
// its reason, and nothing else.
func TestAnswersDetach(t *testing.T) {
	t.Parallel()
	reason := &amqp.DetachError{Reason: amqp.Errorf(amqp.CondDetachForced, "moved")}
	sink, source := newSink(), newSource(deliveries(t, 1, []byte("x"))...)
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) { done(reason) }
	source.onSettle = func(amqp.Outcome) error { return reason }
	s := session(t, &fakeService{openSink: sink.open, openSource: source.open}, amqp.Options{})
	detached := func(what string, err error) {
		t.Helper()
		e, ok := errors.AsType[*goamqp.LinkError](err)
		if !ok || e.RemoteErr == nil || e.RemoteErr.Condition != goamqp.ErrCondDetachForced {
			t.Errorf("%s: got %v, want a detach", what, err)
		}
	}
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := receiver(t, s, &goamqp.ReceiverOptions{SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
	m := receive(t, r)
	detached("send", sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil))
	wait(t, "the end of the sink", sink.closed)
	detached("settle", r.AcceptMessage(testContext(t), m))
	wait(t, "the end of the source", source.closed)
	if sink.closes != 1 || source.closes != 1 {
		t.Errorf("closed %d and %d times", sink.closes, source.closes)
	}
	// The session lives on.
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) { done(nil) }
	if sender, err = s.NewSender(testContext(t), "orders", nil); err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil); err != nil {
		t.Error(err)
	}
}
