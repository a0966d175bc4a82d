package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// TestServiceBusCompetingConsumers has several receivers on connections of their
// own take what several senders send: each message goes to one of them, once.
func TestServiceBusCompetingConsumers(t *testing.T) {
	t.Parallel()
	const senders, receivers, each = 3, 5, 100
	m := startMessaging(t, messagingConfig())
	var mu sync.Mutex
	seen := map[string]int{}
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	var wg sync.WaitGroup
	for range receivers {
		r := newReceiver(t, m.serviceBus(t), nil)
		wg.Go(func() {
			for ctx.Err() == nil {
				msgs, err := r.ReceiveMessages(ctx, 7, nil)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("receive: %v", err)
					return
				}
				for _, msg := range msgs {
					if err := r.CompleteMessage(context.WithoutCancel(ctx), msg, nil); err != nil {
						t.Errorf("complete: %v", err)
					}
					mu.Lock()
					seen[string(msg.Body)]++
					if len(seen) == senders*each {
						stop()
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range senders {
		s := newSender(t, m.serviceBus(t))
		wg.Go(func() { sendNumbered(t, s, i, each) })
	}
	wg.Wait()
	if len(seen) != senders*each {
		t.Errorf("received %d different messages, want %d", len(seen), senders*each)
	}
	for body, n := range seen {
		if n != 1 {
			t.Errorf("%s was received %d times", body, n)
		}
	}
	m.emptied(t)
}

func sendNumbered(t *testing.T, s *azservicebus.Sender, sender, n int) {
	for i := range n {
		if err := s.SendMessage(context.Background(), text(fmt.Sprintf("%d/%d", sender, i)), nil); err != nil {
			t.Errorf("send: %v", err)
			return
		}
	}
}

// TestServiceBusLateArrivalsGoOn gives up waiting with credit left over: the
// message that comes then is not lost to the next receiver, nor counted.
func TestServiceBusLateArrivalsGoOn(t *testing.T) {
	t.Parallel()
	c := startMessaging(t, messagingConfig()).serviceBus(t)
	idle, r := newReceiver(t, c, nil), newReceiver(t, c, nil)
	ctx, cancel := context.WithCancel(testContext(t))
	got := make(chan error, 1)
	go func() {
		_, err := idle.ReceiveMessages(ctx, 10, nil)
		got <- err
	}()
	send(t, newSender(t, c), text("first"))
	must(t, "receive", <-got)
	cancel()
	send(t, newSender(t, c), text("second")) // meets the credit that is left
	if msg := receiveOne(t, r); string(msg.Body) != "second" || msg.DeliveryCount != 1 {
		t.Errorf("received %q, delivery %d", msg.Body, msg.DeliveryCount)
	}
}
