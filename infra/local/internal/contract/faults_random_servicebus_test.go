package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/engine"
)

// TestServiceBusUnderFaults has senders and competing receivers go on under all
// faults of Service Bus. Whatever was acknowledged holds: a message that was
// sent is received, and stored once; a completion is final.
func TestServiceBusUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			const senders, batches, receivers = 3, 120, 4
			cfg := messagingConfig()
			// Nothing is dead-lettered, and what a lost connection has locked is
			// back soon.
			cfg.Queues[0] = broker.QueueConfig{
				Name: queueName, LockDuration: time.Second, MaxDeliveryCount: 2000, DuplicateWindow: time.Hour,
			}
			m := startFaultyMessaging(t, cfg)
			faults := fault.Plan{Seed: seed, SlowSeconds: 0.005, Rates: map[fault.Point]float64{
				fault.AMQPRefuse: 0.2, fault.AMQPDrop: 0.002, fault.AMQPSlow: 0.02,
				fault.ServiceBusDetach: 0.02, fault.ServiceBusBusy: 0.05, fault.ServiceBusSendLost: 0.05,
				fault.ServiceBusLockLost: 0.03, fault.ServiceBusDuplicate: 0.03, fault.ServiceBusReorder: 0.2,
			}}
			plan(t, m.in, faults)
			got := newReceipts()
			running := runContext(t)
			ctx, stop := context.WithCancel(running)
			var receiving sync.WaitGroup
			for range receivers {
				c := m.serviceBus(t)
				receiving.Go(func() { got.receive(ctx, t, newReceiver(t, c, nil)) })
			}
			var sending sync.WaitGroup
			for i := range senders {
				s := m.sender(t)
				sending.Go(func() {
					for n := range batches {
						insist(running, t, func(ctx context.Context) error { return s.Send(ctx, batchOf(i, n)...) })
					}
				})
			}
			sending.Wait()
			plan(t, m.in, fault.Plan{})
			m.drained(running, t)
			stop()
			receiving.Wait()
			wantEveryHit(t, m.in, faults)
			got.check(t, senders, batches)
		})
	}
}

// drained waits until the queue has nothing, not even locked.
func (m *faultyMessaging) drained(ctx context.Context, t *testing.T) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for m.Stats().Queues[0] != (broker.QueueStats{Name: queueName}) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the queue never got empty: %+v", m.Stats().Queues[0])
		}
	}
}

// batchOf is 1 to 7 messages.
func batchOf(sender, n int) []engine.Queued {
	var out []engine.Queued
	for k := range 1 + n%7 {
		out = append(out, queued(fmt.Sprintf("%d/%d/%d", sender, n, k)))
	}
	return out
}

// receipts are what the receivers of a queue have got.
type receipts struct {
	mu        sync.Mutex
	numbers   map[string]map[int64]bool // by message id
	delivered map[int64]uint32          // the highest delivery, by sequence number
	completed map[int64]uint32          // the delivery whose completion was acknowledged
}

func newReceipts() *receipts {
	return &receipts{numbers: map[string]map[int64]bool{}, delivered: map[int64]uint32{}, completed: map[int64]uint32{}}
}

// receive takes and completes messages until ctx ends.
func (r *receipts) receive(ctx context.Context, t *testing.T, from *azservicebus.Receiver) {
	var settling sync.WaitGroup
	defer settling.Wait()
	for ctx.Err() == nil {
		msgs, err := from.ReceiveMessages(ctx, 20, nil)
		if err != nil && ctx.Err() == nil {
			t.Logf("receive: %v", err) // the next call connects again
		}
		for _, msg := range msgs {
			r.note(msg, r.delivered)
			settling.Go(func() {
				// On a lost connection the SDK would go on for 44 s.
				settle, cancel := context.WithDeadline(context.WithoutCancel(ctx), *msg.LockedUntil)
				defer cancel()
				if err := from.CompleteMessage(settle, msg, nil); err == nil {
					r.note(msg, r.completed)
				}
			})
		}
	}
}

func (r *receipts) note(msg *azservicebus.ReceivedMessage, in map[int64]uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := *msg.SequenceNumber
	in[number] = max(in[number], msg.DeliveryCount)
	if r.numbers[msg.MessageID] == nil {
		r.numbers[msg.MessageID] = map[int64]bool{}
	}
	r.numbers[msg.MessageID][number] = true
}

func (r *receipts) check(t *testing.T, senders, batches int) {
	t.Helper()
	sent := 0
	for i := range senders {
		for n := range batches {
			for _, m := range batchOf(i, n) {
				sent++
				if got := len(r.numbers[m.MessageID]); got != 1 {
					t.Errorf("message %s has %d sequence numbers", m.MessageID, got)
				}
			}
		}
	}
	again := 0
	for number, delivery := range r.delivered {
		if delivery > 1 {
			again++
		}
		if done, ok := r.completed[number]; ok && delivery > done {
			t.Errorf("message %d came %d times, though delivery %d was completed", number, delivery, done)
		}
	}
	if len(r.delivered) != sent {
		t.Errorf("%d messages were received, %d sent", len(r.delivered), sent)
	}
	t.Logf("%d messages sent, %d delivered more than once, %d completions acknowledged", sent, again, len(r.completed))
}
