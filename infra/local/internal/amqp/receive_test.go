package amqp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"
)

func deliveries(t *testing.T, n int, body []byte) []amqp.Delivery {
	t.Helper()
	payload := encode(t, goamqp.NewMessage(body))
	list := make([]amqp.Delivery, n)
	for i := range list {
		list[i] = amqp.Delivery{Tag: fmt.Appendf(nil, "%08d", i), Payload: payload}
	}
	return list
}

func receiver(t *testing.T, s *goamqp.Session, options *goamqp.ReceiverOptions) *goamqp.Receiver {
	t.Helper()
	r, err := s.NewReceiver(testContext(t), "orders", options)
	if err != nil {
		t.Fatalf("attach receiver: %v", err)
	}
	return r
}

func receive(t *testing.T, r *goamqp.Receiver) *goamqp.Message {
	t.Helper()
	m, err := r.Receive(testContext(t), nil)
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return m
}

func TestReceiveSettlesEveryOutcome(t *testing.T) {
	t.Parallel()
	deadLetter := &goamqp.Error{
		Condition: amqp.CondDeadLetter,
		Info:      map[string]any{"DeadLetterReason": "bad", "DeadLetterErrorDescription": "very"},
	}
	cases := []struct {
		name   string
		settle func(*goamqp.Receiver, *goamqp.Message) error
		want   amqp.Outcome
	}{
		{"accepted", func(r *goamqp.Receiver, m *goamqp.Message) error { return r.AcceptMessage(testContext(t), m) },
			amqp.Outcome{Kind: amqp.Accepted}},
		{"rejected", func(r *goamqp.Receiver, m *goamqp.Message) error { return r.RejectMessage(testContext(t), m, nil) },
			amqp.Outcome{Kind: amqp.Rejected}},
		{"dead-lettered", func(r *goamqp.Receiver, m *goamqp.Message) error {
			return r.RejectMessage(testContext(t), m, deadLetter)
		}, amqp.Outcome{Kind: amqp.Rejected, Error: &amqp.Error{Condition: amqp.CondDeadLetter, Info: deadLetter.Info}}},
		{"released", func(r *goamqp.Receiver, m *goamqp.Message) error { return r.ReleaseMessage(testContext(t), m) },
			amqp.Outcome{Kind: amqp.Released}},
		{"modified", func(r *goamqp.Receiver, m *goamqp.Message) error {
			return r.ModifyMessage(testContext(t), m, &goamqp.ModifyMessageOptions{
				DeliveryFailed: true, UndeliverableHere: true, Annotations: goamqp.Annotations{"why": "later"},
			})
		}, amqp.Outcome{Kind: amqp.Modified, DeliveryFailed: true, UndeliverableHere: true, Annotations: map[string]any{"why": "later"}}},
	}
	for _, mode := range []goamqp.ReceiverSettleMode{goamqp.ReceiverSettleModeFirst, goamqp.ReceiverSettleModeSecond} {
		source := newSource(deliveries(t, len(cases), []byte("x"))...)
		s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
		r := receiver(t, s, &goamqp.ReceiverOptions{SettlementMode: mode.Ptr()})
		for i, c := range cases {
			m := receive(t, r)
			if want := fmt.Sprintf("%08d", i); string(m.DeliveryTag) != want {
				t.Errorf("tag %q, want %q", m.DeliveryTag, want)
			}
			if err := c.settle(r, m); err != nil {
				t.Errorf("%s in mode %v: %v", c.name, mode, err)
			}
			source.await(t, c.name, func() bool { return len(source.settles) > i })
			if diff := cmp.Diff(settlement{tag: string(m.DeliveryTag), outcome: c.want}, source.settles[i], cmp.AllowUnexported(settlement{})); diff != "" {
				t.Errorf("%s in mode %v: %s", c.name, mode, diff)
			}
		}
	}
}

func TestReceiveLockLost(t *testing.T) {
	t.Parallel()
	source := newSource(deliveries(t, 1, []byte("x"))...)
	source.onSettle = func(amqp.Outcome) error {
		return &amqp.Error{Condition: amqp.CondMessageLockLost, Description: "The lock supplied is invalid."}
	}
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
	err := r.AcceptMessage(testContext(t), receive(t, r))
	e, ok := errors.AsType[*goamqp.Error](err)
	if !ok || e.Condition != amqp.CondMessageLockLost || e.Description != "The lock supplied is invalid." {
		t.Errorf("got %v", err)
	}
}

func TestReceiveMultiFrame(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789abcdef"), 200<<10/16)
	source := newSource(deliveries(t, 30, body)...)
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{LinkBuffer: 1 << 20})
	r := receiver(t, s, &goamqp.ReceiverOptions{Credit: 1000})
	for i := range 30 {
		m := receive(t, r)
		if !bytes.Equal(m.GetData(), body) {
			t.Fatalf("message %d differs", i)
		}
		if err := r.AcceptMessage(testContext(t), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(source.credits) < 5 {
		t.Errorf("the queue of 1 MiB never filled up: credits %v", source.credits)
	}
}

// More messages than the peer's session window, with credit for all of them.
func TestReceiveSettledBeyondTheWindow(t *testing.T) {
	t.Parallel()
	const messages = 6_000
	source := newSource(deliveries(t, messages, []byte("x"))...)
	source.settled = true
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{Credit: 2 * messages})
	for i := range messages {
		m := receive(t, r)
		if want := fmt.Sprintf("%08d", i); string(m.DeliveryTag) != want {
			t.Fatalf("tag %q, want %q", m.DeliveryTag, want)
		}
	}
}

// As an Event Hubs consumer does: automatic credit for settled deliveries.
func TestReceiveSettledReplenishes(t *testing.T) {
	t.Parallel()
	const messages = 1000
	source := newSource(deliveries(t, messages, []byte("x"))...)
	source.settled = true
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{Credit: 300})
	for range messages {
		receive(t, r)
	}
}

func TestReceiveOnlyWithCredit(t *testing.T) {
	t.Parallel()
	source := newSource(deliveries(t, 5, []byte("x"))...)
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{Credit: -1})
	if err := r.IssueCredit(2); err != nil {
		t.Fatal(err)
	}
	receive(t, r)
	receive(t, r)
	source.await(t, "credit told", func() bool { return len(source.credits) > 0 })
	if len(source.queue) != 3 {
		t.Errorf("%d messages left, want 3", len(source.queue))
	}
	if r.Prefetched() != nil {
		t.Error("a message came without credit")
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	source := newSource(deliveries(t, 3, []byte("x"))...)
	s := session(t, &fakeService{openSource: source.open}, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{Credit: -1})
	for round := range 2 {
		if err := r.IssueCredit(10); err != nil {
			t.Fatal(err)
		}
		source.await(t, "credit told", func() bool {
			return len(source.credits) > 0 && source.credits[len(source.credits)-1] > 0
		})
		for range 3 * (1 - round) {
			receive(t, r) // go-amqp drains with a credit of 0: nothing comes after that
		}
		if err := r.DrainCredit(testContext(t), nil); err != nil {
			t.Fatalf("drain: %v", err)
		}
		source.await(t, "credit used up", func() bool { return source.credits[len(source.credits)-1] == 0 })
	}
	source.push(deliveries(t, 1, []byte("late"))...)
	if err := r.IssueCredit(1); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, r); string(m.GetData()) != "late" {
		t.Errorf("got %q", m.GetData())
	}
}

func TestServiceDetaches(t *testing.T) {
	t.Parallel()
	source, again := newSource(deliveries(t, 1, []byte("x"))...), newSource(deliveries(t, 1, []byte("y"))...)
	var opened atomic.Int32
	s := session(t, &fakeService{openSource: func(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		if opened.Add(1) == 1 {
			return source.open(ctx, a, out)
		}
		return again.open(ctx, a, out)
	}}, amqp.Options{})
	r := receiver(t, s, nil)
	m := receive(t, r)
	source.out.Detach(amqp.Errorf(amqp.CondLinkStolen, "another receiver took over"))
	_, err := r.Receive(testContext(t), nil)
	e, ok := errors.AsType[*goamqp.LinkError](err)
	if !ok || e.RemoteErr == nil || e.RemoteErr.Condition != goamqp.ErrCondStolen {
		t.Errorf("got %v", err)
	}
	wait(t, "source closed", source.closed)
	if source.out.Send(amqp.Delivery{Tag: []byte("t")}) {
		t.Error("Send on an ended link said yes")
	}
	if err := r.AcceptMessage(testContext(t), m); err == nil {
		t.Error("settled on an ended link")
	}
	// The session goes on, and its handles are free again.
	if m := receive(t, receiver(t, s, nil)); string(m.GetData()) != "y" {
		t.Errorf("got %q", m.GetData())
	}
}
