package broker

import (
	"testing"
	"testing/synctest"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// pass lets d go by on the bubble's clock, and what is due then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestTimersAct: what time does to queues and hubs happens at its instant,
// without any operation that would bring it about.
func TestTimersAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queues[0].MaxDeliveryCount = 2
		cfg.Queues[0].DeadLetterOnExpiry = true
		b := open(t, cfg, store.NewMemory())
		stats := func(want QueueStats) {
			t.Helper()
			want.Name = "Orders"
			if got := b.Stats().Queues[0]; got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		}
		p := receiver(t, b, amqp.Attach{Address: "orders"})
		send(t, b, "orders", "a")
		p.give(2)
		pass(time.Minute - time.Millisecond)
		stats(QueueStats{Locked: 1})
		if n, _ := p.counts(); n != 1 {
			t.Fatalf("%d deliveries during the lock", n)
		}
		pass(time.Millisecond) // the lock runs out: delivered again
		if n, _ := p.counts(); n != 2 {
			t.Fatalf("%d deliveries after the lock", n)
		}
		pass(time.Minute) // and that was the last time
		stats(QueueStats{DeadLettered: 1})

		for _, m := range []*goamqp.Message{
			{Header: &goamqp.MessageHeader{TTL: 5 * time.Second}, Data: [][]byte{nil}},
			{Annotations: goamqp.Annotations{annSchedule: time.Now().Add(10 * time.Second)}, Data: [][]byte{nil}},
		} {
			if err := transfer(t, b, "orders", 0, encode(t, m)); err != nil {
				t.Fatal(err)
			}
		}
		stats(QueueStats{Active: 1, Scheduled: 1, DeadLettered: 1})
		pass(5 * time.Second)
		stats(QueueStats{Scheduled: 1, DeadLettered: 2})
		pass(5 * time.Second)
		stats(QueueStats{Active: 1, DeadLettered: 2})
	})
}

func TestRetentionActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, testConfig(), store.NewMemory())
		send(t, b, "hub/Partitions/0", "a")
		pass(30 * time.Minute)
		send(t, b, "hub/Partitions/0", "b")
		for _, first := range []int64{0, 1, 2} {
			if p := b.Stats().Hubs[0].Partitions[0]; p.First != first || p.Last != 1 {
				t.Errorf("partition %+v, want first %d", p, first)
			}
			pass(30 * time.Minute)
		}
	})
}
