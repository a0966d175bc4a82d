package broker

import (
	"fmt"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestReceiversTakeTurns(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	peers := []*peer{
		receiver(t, b, amqp.Attach{Address: "orders"}), receiver(t, b, amqp.Attach{Address: "ORDERS"}),
		receiver(t, b, amqp.Attach{Address: "/Orders"}),
	}
	for _, p := range peers {
		p.give(3)
	}
	for i := range 8 {
		send(t, b, "Orders", fmt.Sprint(i))
	}
	for i := range 8 {
		if body := peers[i%3].body(); body != fmt.Sprint(i) {
			t.Errorf("receiver %d got %s, want %d", i%3, body, i)
		}
	}
	// Receiver 2 has one credit left; credit 0 takes it back.
	peers[2].give(0)
	send(t, b, "orders", "waits")
	peers[1].give(1)
	if body := peers[1].body(); body != "waits" {
		t.Errorf("got %s", body)
	}
}

func TestDeliveryIsWhole(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "orders", ReceiverSecond: true})
	p.give(1)
	schedule := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	err := transfer(t, b, "orders", 0, encode(t, &goamqp.Message{
		Header:              &goamqp.MessageHeader{Durable: true, Priority: 7, TTL: time.Minute, DeliveryCount: 9},
		DeliveryAnnotations: goamqp.Annotations{"mine": "kept"},
		Annotations: goamqp.Annotations{
			annSequence: "not a number", annLockedUntil: nil, annEnqueued: nil, annState: int32(1), annSchedule: schedule,
			annPartitionKey: nil, "mine": int32(1),
		},
		Value:  map[string]any{"a": []int64{1, 2}},
		Footer: goamqp.Annotations{"f": "g"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	d, m := p.next()
	if m.Header == nil || !m.Header.Durable || m.Header.Priority != 7 || m.Header.TTL != time.Minute || m.Header.DeliveryCount != 0 {
		t.Errorf("header %+v", m.Header)
	}
	token, ok := m.DeliveryAnnotations[annLockToken].(goamqp.UUID)
	if !ok || guidBytes(token) != [16]byte(d.Tag) || m.DeliveryAnnotations["mine"] != "kept" {
		t.Errorf("delivery annotations %v, tag %x", m.DeliveryAnnotations, d.Tag)
	}
	if m.Annotations[annSequence] != int64(1) || m.Annotations["mine"] != int32(1) || m.Annotations[annSchedule] == nil {
		t.Errorf("annotations %v", m.Annotations)
	}
	for _, name := range []string{annEnqueued, annLockedUntil} {
		if _, ok := m.Annotations[name].(time.Time); !ok {
			t.Errorf("%s is %T", name, m.Annotations[name])
		}
	}
	if len(m.Annotations) != 5 {
		t.Errorf("annotations that nobody sent: %v", m.Annotations)
	}
	if id, ok := m.Properties.MessageID.(string); !ok || len(id) != 32 {
		t.Errorf("message id %v", m.Properties.MessageID)
	}
	if v, ok := m.Value.(map[string]any); !ok || fmt.Sprint(v["a"]) != "[1 2]" || m.Footer["f"] != "g" {
		t.Errorf("value %v, footer %v", m.Value, m.Footer)
	}
}

// TestRefusedDeliveries: a link that says no keeps no message, counts no
// delivery, and is not asked again and again.
func TestRefusedDeliveries(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "orders"})
	p.refuse = true
	p.give(1000)
	send(t, b, "orders", "a")
	p.wait("a refusal", func() bool { return p.refused > 0 })
	other := receiver(t, b, amqp.Attach{Address: "orders"})
	other.give(1)
	_, m := other.next()
	if m.Header.DeliveryCount != 0 {
		t.Errorf("the refused delivery counted: %d", m.Header.DeliveryCount)
	}
	if _, refused := p.counts(); refused > 2 {
		t.Errorf("%d deliveries were tried on a link without credit", refused)
	}
}

// TestReleaseLoopEnds: a receiver that releases what it gets sees the message
// as often as it gives credit, and not more.
func TestReleaseLoopEnds(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "orders"})
	p.give(5)
	send(t, b, "orders", "a")
	for range 5 {
		d, m := p.next()
		if m.Header.DeliveryCount != 0 {
			t.Errorf("releasing counted: %d", m.Header.DeliveryCount)
		}
		if err := p.settle(d.Tag, amqp.Outcome{Kind: amqp.Released}); err != nil {
			t.Fatal(err)
		}
	}
	send(t, b, "orders", "b")
	if waiting, refused := p.counts(); waiting+refused > 0 {
		t.Errorf("%d deliveries beyond the credit", waiting+refused)
	}
	if s := b.Stats().Queues[0]; s.Active != 2 || s.Locked != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestOutcomes(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "orders"})
	dead := receiver(t, b, amqp.Attach{Address: "orders/$deadletterqueue"})
	send(t, b, "orders", "a")
	settle := func(o amqp.Outcome) error {
		t.Helper()
		p.give(1)
		d, _ := p.next()
		err := p.settle(d.Tag, o)
		if again := p.settle(d.Tag, o); err == nil {
			wantCondition(t, "settle twice", again, amqp.CondMessageLockLost)
		}
		return err
	}
	if err := settle(amqp.Outcome{Kind: amqp.Modified, Annotations: map[string]any{"n": int32(1), "none": nil}}); err != nil {
		t.Fatal(err)
	}
	wantCondition(t, "an unknown outcome", settle(amqp.Outcome{Kind: 9}), amqp.CondNotAllowed)
	if c := b.Stats().Queues[0]; c.Locked != 1 {
		t.Errorf("an unknown outcome ended the lock: %+v", c)
	}
	send(t, b, "orders", "b")
	err := settle(amqp.Outcome{Kind: amqp.Rejected, Error: &amqp.Error{Condition: amqp.CondDeadLetter, Info: map[string]any{
		reasonProperty: "why", descriptionProperty: "because", "more": "m",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	send(t, b, "orders", "c")
	wantCondition(t, "a reason that is no text", settle(amqp.Outcome{Kind: amqp.Rejected, Error: &amqp.Error{
		Info: map[string]any{reasonProperty: int32(7)},
	}}), amqp.CondInvalidField)
	dead.give(2)
	d, m := dead.next()
	if a := m.ApplicationProperties; a[reasonProperty] != "why" || a[descriptionProperty] != "because" || a["more"] != "m" || string(m.GetData()) != "b" {
		t.Errorf("dead letter %v", a)
	}
	wantCondition(t, "dead-letter a dead letter", dead.settle(d.Tag, amqp.Outcome{Kind: amqp.Rejected}), amqp.CondNotAllowed)
	wantCondition(t, "another link's kind of tag", p.settle([]byte("x"), amqp.Outcome{Kind: amqp.Accepted}), amqp.CondMessageLockLost)
	wantCondition(t, "the main queue's link", p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}), amqp.CondMessageLockLost)
	if err := dead.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}); err != nil {
		t.Error(err)
	}
}

// TestHubLinkWithoutRoom: a link that says no gets the same event when it has
// credit again.
func TestHubLinkWithoutRoom(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "hub/consumergroups/$default/partitions/0"})
	for i := range 600 { // more than one read
		send(t, b, "hub/Partitions/0", fmt.Sprint(i))
	}
	p.give(2)
	p.wait("two deliveries", func() bool { return len(p.got) == 2 })
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.give(10)
	p.wait("a refusal", func() bool { return p.refused > 0 })
	p.mu.Lock()
	p.refuse = false
	p.mu.Unlock()
	p.give(598)
	for i := range 600 {
		d, m := p.next()
		if string(m.GetData()) != fmt.Sprint(i) || string(d.Tag) != fmt.Sprint(i) || m.Annotations[annSequence] != int64(i) {
			t.Fatalf("event %d is %q", i, m.GetData())
		}
	}
}
