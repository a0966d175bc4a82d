package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/engine"
)

func queued(id string) engine.Queued {
	return engine.Queued{Queue: queueName, MessageID: id, Body: []byte(id)}
}

// TestServiceBusFaultsOfSends: what the app's sender makes of each fault while
// it lasts, what the queue has then, and that all is well after it.
func TestServiceBusFaultsOfSends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point  fault.Point
		window time.Duration // for duplicates
		after  time.Duration // that the failure asks to wait
		tries  uint64        // of the client
		stored int
	}{
		{point: fault.AMQPRefuse, tries: faultRetries + 1},
		{point: fault.AMQPDrop, tries: faultRetries + 1},
		{point: fault.ServiceBusBusy, after: 10 * time.Second, tries: faultRetries + 1},
		{point: fault.ServiceBusDetach, tries: faultRetries + 2}, // one more at once
		{point: fault.ServiceBusSendLost, tries: faultRetries + 1, stored: faultRetries + 1},
		{point: fault.ServiceBusSendLost, window: time.Hour, tries: faultRetries + 1, stored: 1},
	} {
		t.Run(string(c.point), func(t *testing.T) {
			t.Parallel()
			cfg := messagingConfig()
			cfg.Queues[0].DuplicateWindow = c.window
			m := startFaultyMessaging(t, cfg)
			s := m.sender(t)
			plan(t, m.in, always(c.point))
			wantTransient(t, "send", s.Send(testContext(t), queued("a")), c.after)
			if got := m.in.Counts()[c.point]; got.Hit != c.tries {
				t.Errorf("the client tried %+v, want %d", got, c.tries)
			}
			if got := m.Stats().Queues[0].Active; got != c.stored {
				t.Errorf("%d messages are stored, want %d", got, c.stored)
			}
			plan(t, m.in, fault.Plan{})
			must(t, "send", s.Send(testContext(t), queued("b")))
			r := newReceiver(t, m.serviceBus(t), nil)
			for _, msg := range receive(t, r, c.stored+1) {
				must(t, "complete", r.CompleteMessage(testContext(t), msg, nil))
			}
			m.emptied(t)
		})
	}
}

// TestServiceBusSchedulesUnderFaults uses the request that schedules.
func TestServiceBusSchedulesUnderFaults(t *testing.T) {
	t.Parallel()
	cfg := messagingConfig()
	cfg.Queues[0].DuplicateWindow = time.Hour
	m := startFaultyMessaging(t, cfg)
	s := newSender(t, m.serviceBus(t))
	id := "a"
	schedule := func() error {
		_, err := s.ScheduleMessages(testContext(t), []*azservicebus.Message{{MessageID: &id}}, time.Now().Add(time.Hour), nil)
		return err
	}
	for _, c := range []struct {
		point  fault.Point
		stored int
	}{{fault.ServiceBusBusy, 0}, {fault.ServiceBusSendLost, 1}} {
		plan(t, m.in, always(c.point))
		if err := schedule(); err == nil {
			t.Errorf("%s: scheduled", c.point)
		}
		wantHit(t, m.in, c.point)
		if got := m.Stats().Queues[0].Scheduled; got != c.stored {
			t.Errorf("%s: %d are scheduled, want %d", c.point, got, c.stored)
		}
	}
	plan(t, m.in, fault.Plan{})
	must(t, "schedule", schedule())
	if got := m.Stats().Queues[0].Scheduled; got != 1 {
		t.Errorf("%d are scheduled", got)
	}
}

// TestServiceBusDetachesReceivers: what was to pass is not lost and has not
// counted; what was received is settled by a request, without the caller's help.
func TestServiceBusDetachesReceivers(t *testing.T) {
	t.Parallel()
	for _, sub := range []azservicebus.SubQueue{0, azservicebus.SubQueueDeadLetter} {
		m := startFaultyMessaging(t, messagingConfig())
		c := m.serviceBus(t)
		send(t, newSender(t, c), text("a"))
		if sub != 0 {
			r := newReceiver(t, c, nil)
			must(t, "dead-letter", r.DeadLetterMessage(testContext(t), receiveOne(t, r), nil))
		}
		r := newReceiver(t, c, &azservicebus.ReceiverOptions{SubQueue: sub})
		plan(t, m.in, always(fault.ServiceBusDetach))
		if got, err := r.ReceiveMessages(testContext(t), 1, nil); len(got) != 0 || err != nil {
			t.Errorf("received %d messages, %v", len(got), err)
		}
		wantHit(t, m.in, fault.ServiceBusDetach)
		plan(t, m.in, fault.Plan{})
		msg := receiveOne(t, r)
		if msg.DeliveryCount != 1 {
			t.Errorf("delivery %d", msg.DeliveryCount)
		}
		plan(t, m.in, always(fault.ServiceBusDetach))
		must(t, "complete", r.CompleteMessage(testContext(t), msg, nil))
		m.emptied(t)
	}
}

func wantLockLost(t *testing.T, what string, err error) {
	t.Helper()
	var coded *azservicebus.Error
	if !errors.As(err, &coded) || coded.Code != azservicebus.CodeLockLost {
		t.Errorf("%s: got %v, want a lost lock", what, err)
	}
}

// TestServiceBusLosesLocks: the receiver hears of it with what it does next, be
// it that it completes or that it renews, and the message comes again.
func TestServiceBusLosesLocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		point fault.Point
		use   func(*azservicebus.Receiver, *azservicebus.ReceivedMessage) error
	}{
		{"complete", fault.ServiceBusLockLost, func(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) error {
			return r.CompleteMessage(testContext(t), msg, nil)
		}},
		{"renew", fault.ServiceBusLockLost, func(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) error {
			return r.RenewMessageLock(testContext(t), msg, nil)
		}},
		{"complete, lost", fault.ServiceBusDuplicate, func(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) error {
			return r.CompleteMessage(testContext(t), msg, nil)
		}},
	} {
		m := startFaultyMessaging(t, messagingConfig())
		client := m.serviceBus(t)
		send(t, newSender(t, client), text("a"))
		r := newReceiver(t, client, nil)
		msg := receiveOne(t, r)
		plan(t, m.in, always(c.point))
		wantLockLost(t, c.name, c.use(r, msg))
		wantHit(t, m.in, c.point)
		plan(t, m.in, fault.Plan{})
		again := receiveOne(t, r)
		if again.DeliveryCount != 2 || *again.SequenceNumber != *msg.SequenceNumber {
			t.Errorf("%s: delivery %d of message %d", c.name, again.DeliveryCount, *again.SequenceNumber)
		}
		must(t, "complete", r.CompleteMessage(testContext(t), again, nil))
		m.emptied(t)
	}
}

func TestServiceBusReorders(t *testing.T) {
	t.Parallel()
	m := startFaultyMessaging(t, messagingConfig())
	c := m.serviceBus(t)
	send(t, newSender(t, c), text("a"), text("b"), text("c"))
	plan(t, m.in, always(fault.ServiceBusReorder))
	r := newReceiver(t, c, nil)
	got := ""
	for range 3 {
		msg := receiveOne(t, r)
		got += string(msg.Body)
		must(t, "complete", r.CompleteMessage(testContext(t), msg, nil))
	}
	if got != "cba" {
		t.Errorf("received %s", got)
	}
	m.emptied(t)
}

// TestMessagingIsSlow: all that there is to slowness is time.
func TestMessagingIsSlow(t *testing.T) {
	t.Parallel()
	m := startFaultyMessaging(t, broker.Config{
		KeyName: "k", Key: "c2VjcmV0", Queues: []broker.QueueConfig{{Name: queueName}},
	})
	plan(t, m.in, always(fault.AMQPSlow))
	c := m.serviceBus(t)
	send(t, newSender(t, c), text("a"))
	r := newReceiver(t, c, nil)
	must(t, "complete", r.CompleteMessage(testContext(t), receiveOne(t, r), nil))
	wantHit(t, m.in, fault.AMQPSlow)
	m.emptied(t)
}
