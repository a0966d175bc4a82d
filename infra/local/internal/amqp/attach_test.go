package amqp_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"
)

func TestAttachTellsAndAnswers(t *testing.T) {
	t.Parallel()
	source := newSource()
	service := &fakeService{openSource: func(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		s, _, err := source.open(ctx, a, out)
		return s, amqp.LinkOptions{
			Properties: map[string]any{"com.microsoft:locked-until-utc": int64(638_000_000_000_000_000)},
			Filters:    map[string]any{"com.microsoft:session-filter": "session-1"},
		}, err
	}}
	s := session(t, service, amqp.Options{})
	r := receiver(t, s, &goamqp.ReceiverOptions{
		Name:           "link-1",
		TargetAddress:  "instance-1",
		SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr(),
		Properties:     map[string]any{"com.microsoft:epoch": int64(7), "com.microsoft:timeout": uint32(59_900)},
		Filters:        []goamqp.LinkFilter{goamqp.NewLinkFilter("com.microsoft:session-filter", 0x137000000C, nil)},
	})
	if got := r.LinkSourceFilterValue("com.microsoft:session-filter"); got != "session-1" {
		t.Errorf("granted session %v", got)
	}
	if got := r.Properties()["com.microsoft:locked-until-utc"]; got != int64(638_000_000_000_000_000) {
		t.Errorf("locked until %v", got)
	}
	got := source.attach
	if got.Conn.ContainerID == "" || got.Conn.Hostname != "127.0.0.1" || got.Conn.Remote == nil || got.Conn.ID == "" {
		t.Errorf("conn %+v", got.Conn)
	}
	got.Conn = amqp.ConnInfo{}
	want := amqp.Attach{
		Name:           "link-1",
		Address:        "orders",
		PeerAddress:    "instance-1",
		ReceiverSecond: true,
		Filters:        map[string]any{"com.microsoft:session-filter": nil},
		Properties:     map[string]any{"com.microsoft:epoch": int64(7), "com.microsoft:timeout": uint32(59_900)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAttachRefused(t *testing.T) {
	t.Parallel()
	s := session(t, &fakeService{}, amqp.Options{})
	for range 2 { // handles are free again after a refusal
		_, err := s.NewSender(testContext(t), "missing", nil)
		if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotFound || e.Description != `no entity "missing"` {
			t.Errorf("sender: %v", err)
		}
		_, err = s.NewReceiver(testContext(t), "missing", nil)
		if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotFound {
			t.Errorf("receiver: %v", err)
		}
		_, err = s.NewReceiver(testContext(t), "", &goamqp.ReceiverOptions{DynamicAddress: true})
		if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotImplemented {
			t.Errorf("dynamic receiver: %v", err)
		}
	}
}

// go-amqp knows a stolen link only after a successful attach.
func TestAttachStolen(t *testing.T) {
	t.Parallel()
	service := &fakeService{openSource: func(context.Context, amqp.Attach, amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondLinkStolen, "a higher epoch exists")
	}}
	s := session(t, service, amqp.Options{})
	r := receiver(t, s, nil)
	_, err := r.Receive(testContext(t), nil)
	e, ok := errors.AsType[*goamqp.LinkError](err)
	if !ok || e.RemoteErr == nil || e.RemoteErr.Condition != goamqp.ErrCondStolen {
		t.Errorf("got %v", err)
	}
}

func TestAttachBlocksOnlyItsLink(t *testing.T) {
	t.Parallel()
	var waiting, answer = make(chan struct{}), make(chan struct{})
	slow := newSource(deliveries(t, 1, []byte("slow"))...)
	sink := newSink()
	service := &fakeService{
		openSink: sink.open,
		openSource: func(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
			close(waiting)
			<-answer
			return slow.open(ctx, a, out)
		},
	}
	s := session(t, service, amqp.Options{})
	received := make(chan string, 1)
	go func() {
		defer close(received)
		r, err := s.NewReceiver(t.Context(), "slow", nil)
		if err != nil {
			t.Errorf("attach: %v", err)
			return
		}
		m, err := r.Receive(t.Context(), nil)
		if err != nil {
			t.Errorf("receive: %v", err)
			return
		}
		received <- string(m.GetData())
	}()
	wait(t, "attach arrived", waiting)
	sender, err := s.NewSender(testContext(t), "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(testContext(t), goamqp.NewMessage([]byte("x")), nil); err != nil {
		t.Fatal(err)
	}
	close(answer)
	if got := <-received; got != "slow" {
		t.Errorf("got %q", got)
	}
}

// A client that gives up on an attach detaches; the Source that the Service
// opens for it all the same is closed.
func TestAttachGivenUp(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	waiting := make(chan struct{})
	source := newSource()
	service := &fakeService{openSource: func(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		if opened.Add(1) > 1 {
			return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotFound, "gone")
		}
		close(waiting)
		<-ctx.Done()
		return source.open(ctx, a, out)
	}}
	s := session(t, service, amqp.Options{})
	ctx, cancel := context.WithCancel(testContext(t))
	attached := make(chan error, 1)
	go func() {
		_, err := s.NewReceiver(ctx, "slow", nil)
		attached <- err
	}()
	wait(t, "attach arrived", waiting)
	cancel()
	if err := <-attached; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The next attach makes go-amqp detach the abandoned link.
	if _, err := s.NewReceiver(testContext(t), "slow", nil); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
	wait(t, "source closed", source.closed)
}

func TestAttachEndsWithSession(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{})
	source := newSource()
	service := &fakeService{openSource: func(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		close(waiting)
		<-ctx.Done()
		return source.open(ctx, a, out)
	}}
	s := session(t, service, amqp.Options{})
	attached := make(chan error, 1)
	go func() {
		_, err := s.NewReceiver(t.Context(), "slow", nil)
		attached <- err
	}()
	wait(t, "attach arrived", waiting)
	if err := s.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	wait(t, "source closed", source.closed)
	if err := <-attached; err == nil {
		t.Error("attached in a session that has ended")
	}
}
