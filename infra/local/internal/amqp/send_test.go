package amqp_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
)

func TestSendManyMultiFrameMessages(t *testing.T) {
	t.Parallel()
	const messages = 1000
	// Every tenth message takes four frames.
	bodies := [2][]byte{[]byte("small"), bytes.Repeat([]byte("0123456789abcdef"), 200<<10/16)}
	body := func(i int) []byte { return append(fmt.Appendf(nil, "%04d", i), bodies[max(0, i%10-8)]...) }
	sink := newSink()
	count := 0
	sink.onTransfer = func(transfer amqp.Transfer, done func(error)) {
		// The data section ends the message.
		want := body(count)
		if !bytes.HasSuffix(transfer.Payload, want) || len(transfer.Payload) > len(want)+20 {
			t.Errorf("message %d of %d bytes differs", count, len(transfer.Payload))
		}
		count++
		done(nil)
	}
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{})
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sender.MaxMessageSize(); got != 1<<20 {
		t.Errorf("max message size %d", got)
	}
	receipts := make([]goamqp.SendReceipt, messages)
	for i := range receipts {
		if receipts[i], err = sender.SendWithReceipt(testContext(t), goamqp.NewMessage(body(i)), nil); err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
	}
	for i := range receipts {
		state, err := receipts[i].Wait(testContext(t))
		if err != nil {
			t.Fatalf("receipt %d: %v", i, err)
		}
		if _, ok := state.(*goamqp.StateAccepted); !ok {
			t.Fatalf("message %d: %T", i, state)
		}
	}
	if err := sender.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	wait(t, "sink closed", sink.closed)
	if count != messages {
		t.Errorf("the sink got %d messages", count)
	}
}

func TestSendRejected(t *testing.T) {
	t.Parallel()
	sink := newSink()
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) {
		done(fmt.Errorf("enqueue: %w", &amqp.Error{Condition: amqp.CondResourceLimitExceeded, Description: "full", Info: map[string]any{"left": int32(0)}}))
	}
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{})
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil)
	e, ok := errors.AsType[*goamqp.Error](err)
	if !ok || e.Condition != goamqp.ErrCondResourceLimitExceeded || e.Description != "full" || e.Info["left"] != int32(0) {
		t.Errorf("got %#v", err)
	}
}

func TestSendSettled(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{LinkCredit: 10})
	sender, err := s.NewSender(testContext(t), "orders", &goamqp.SenderOptions{SettlementMode: goamqp.SenderSettleModeSettled.Ptr()})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	wait(t, "sink closed", sink.closed)
	got := sink.received()
	if len(got) != 100 || !got[99].Settled {
		t.Errorf("%d transfers", len(got))
	}
}

// In receiver settle mode second, too, our outcome settles.
func TestSendModeSecond(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{})
	sender, err := s.NewSender(testContext(t), "orders", &goamqp.SenderOptions{
		SettlementMode:              goamqp.SenderSettleModeUnsettled.Ptr(),
		RequestedReceiverSettleMode: goamqp.ReceiverSettleModeSecond.Ptr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSendThroughASmallWindow(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{SessionWindow: 3, MaxFrameSize: 1024})
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := sender.Send(testContext(t), goamqp.NewMessage(make([]byte, 10_000)), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// The peer gets no credit beyond what the Sink has finished, and none is lost.
func TestSinkHoldsBackCredit(t *testing.T) {
	t.Parallel()
	pending := make(chan func(error), 100)
	sink := newSink()
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) { pending <- done }
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{LinkCredit: 4})
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		for range 20 {
			if _, err := sender.SendWithReceipt(t.Context(), goamqp.NewMessage([]byte("x")), nil); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range 20 {
		done := <-pending
		if got := len(pending); got > 3 {
			t.Fatalf("%d deliveries wait beside one that is worked on, with a credit of 4", got)
		}
		done(nil)
		if i%3 == 0 {
			done(nil) // a second answer does nothing
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestSendTooLarge(t *testing.T) {
	t.Parallel()
	sink := newSink()
	s := session(t, &fakeService{openSink: sink.open}, amqp.Options{})
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sender.Send(testContext(t), goamqp.NewMessage(make([]byte, 1<<20)), nil)
	if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondMessageSizeExceeded {
		t.Errorf("got %v", err)
	}
	if err := sender.Send(testContext(t), goamqp.NewMessage([]byte("small")), nil); err != nil {
		t.Errorf("the sender does not go on: %v", err)
	}
}
