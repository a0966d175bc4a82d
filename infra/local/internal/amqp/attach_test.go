package amqp_test

import (
	"context"
	"errors"
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
