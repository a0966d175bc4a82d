package broker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// faulty is a broker whose faults are chosen by hit: the points that are hit
// from now on, always.
type faulty struct {
	*Broker
	t  *testing.T
	in *fault.Injector
}

func openFaulty(t *testing.T, s store.Store) *faulty {
	t.Helper()
	cfg := testConfig()
	cfg.Queues[0].DuplicateWindow = time.Hour
	cfg.Faults = fault.New()
	return &faulty{open(t, cfg, s), t, cfg.Faults}
}

func (f *faulty) hit(points ...fault.Point) {
	f.t.Helper()
	p := fault.Plan{Rates: map[fault.Point]float64{}}
	for _, point := range points {
		p.Rates[point] = 1
	}
	if err := f.in.Set(p); err != nil {
		f.t.Fatal(err)
	}
}

// wantDetach wants an answer to be a detach-forced.
func (f *faulty) wantDetach(what string, err error) {
	f.t.Helper()
	detach, ok := errors.AsType[*amqp.DetachError](err)
	if !ok || detach.Reason.Condition != amqp.CondDetachForced {
		f.t.Errorf("%s: got %v, want a detach", what, err)
	}
}

func (f *faulty) stats() QueueStats { return f.Stats().Queues[0] }

func withID(t *testing.T, id string) []byte {
	t.Helper()
	return encode(t, &goamqp.Message{Properties: &goamqp.MessageProperties{MessageID: id}, Data: [][]byte{[]byte(id)}})
}

// TestFaultsOfSends holds the points of both services against a link that
// sends: what a client is told, and what is stored.
func TestFaultsOfSends(t *testing.T) {
	for _, c := range []struct {
		address                string
		busy, sendLost, detach fault.Point
		stored                 func(*faulty) int64
	}{
		{"orders", fault.ServiceBusBusy, fault.ServiceBusSendLost, fault.ServiceBusDetach,
			func(f *faulty) int64 { return int64(f.stats().Active) }},
		{"hub/partitions/0", fault.EventHubsBusy, fault.EventHubsSendLost, fault.EventHubsDetach,
			func(f *faulty) int64 { return f.Stats().Hubs[0].Partitions[0].Last + 1 }},
	} {
		t.Run(c.address, func(t *testing.T) {
			f := openFaulty(t, store.NewMemory())
			put := func(id string) error { t.Helper(); return transfer(t, f.Broker, c.address, 0, withID(t, id)) }
			stored := func(want int64) {
				t.Helper()
				if got := c.stored(f); got != want {
					t.Errorf("%d are stored, want %d", got, want)
				}
			}
			f.hit(c.busy)
			wantCondition(t, "busy", put("a"), amqp.CondServerBusy)
			f.hit(c.detach)
			f.wantDetach("send", put("a"))
			stored(0)
			f.hit(c.sendLost)
			if err := put("a"); !errors.Is(err, amqp.ErrCut) {
				t.Errorf("the answer is lost: %v", err)
			}
			stored(1)
			f.hit()
			if err := put("b"); err != nil {
				t.Error(err)
			}
			stored(2)
			for p, got := range f.in.Counts() {
				if got.Hit != 1 || (p != c.busy && p != c.detach && p != c.sendLost) {
					t.Errorf("%s: %+v", p, got)
				}
			}
		})
	}
}

// TestSendLostTellsOfTheStore: what isn't stored is no lost answer.
func TestSendLostTellsOfTheStore(t *testing.T) {
	s := newHeldStore()
	f := openFaulty(t, s)
	f.hit(fault.ServiceBusSendLost)
	s.setHold(true)
	told := make(chan error, 1)
	go func() { told <- transfer(t, f.Broker, "orders", 0, withID(t, "a")) }()
	<-s.came
	select {
	case err := <-told:
		t.Errorf("told %v before it was kept", err)
	default:
	}
	s.let(errors.New("disk full"))
	wantCondition(t, "the sender", <-told, amqp.CondInternalError)
}

// TestFaultsOfScheduling: the request that sends is no exception.
func TestFaultsOfScheduling(t *testing.T) {
	f := openFaulty(t, store.NewMemory())
	schedule := func(id string) error {
		_, err := request(f.Broker, "orders/$management", "com.microsoft:schedule-message", map[string]any{
			"messages": []any{map[string]any{"message": encode(t, &goamqp.Message{
				Properties:  &goamqp.MessageProperties{MessageID: id},
				Annotations: goamqp.Annotations{annSchedule: time.Now().Add(time.Hour)},
				Data:        [][]byte{nil},
			})}},
		})
		return err
	}
	f.hit(fault.ServiceBusBusy)
	wantCondition(t, "busy", schedule("a"), amqp.CondServerBusy)
	if code, _ := amqp.StatusOf(schedule("a")); code != 503 {
		t.Errorf("busy is answered %d", code)
	}
	if n := f.stats().Scheduled; n != 0 {
		t.Errorf("%d scheduled by a busy service", n)
	}
	f.hit(fault.ServiceBusSendLost)
	if err := schedule("a"); !errors.Is(err, amqp.ErrCut) {
		t.Errorf("the answer is lost: %v", err)
	}
	f.hit()
	if err := schedule("a"); err != nil || f.stats().Scheduled != 1 {
		t.Errorf("the repetition: %v, %d scheduled", err, f.stats().Scheduled)
	}
}

// TestDetachWhileReceiving: a message that would pass is available to another
// link; an event is read again.
func TestDetachWhileReceiving(t *testing.T) {
	for to, from := range map[string]string{"orders": "orders", "hub/partitions/0": "hub/consumergroups/$default/partitions/0"} {
		f := openFaulty(t, store.NewMemory())
		send(t, f.Broker, to, "a", "b")
		first := receiver(t, f.Broker, amqp.Attach{Address: from})
		f.hit(fault.ServiceBusDetach, fault.EventHubsDetach)
		first.give(10)
		first.wait("the detach", func() bool { return first.detached != nil })
		wantCondition(t, from, first.ended(), amqp.CondDetachForced)
		first.source.Close() // as the server does
		f.hit()
		second := receiver(t, f.Broker, amqp.Attach{Address: from})
		second.give(10)
		for _, want := range []string{"a", "b"} {
			if _, m := second.next(); string(m.GetData()) != want || m.Header != nil && m.Header.DeliveryCount != 0 {
				t.Errorf("%s: received %q, header %+v, want %q", from, m.GetData(), m.Header, want)
			}
		}
		if n, _ := first.counts(); n != 0 {
			t.Errorf("%s: the detached link got %d", from, n)
		}
	}
}

// TestDetachWhileSettling changes nothing: the lock is held, and ended by a
// request.
func TestDetachWhileSettling(t *testing.T) {
	f := openFaulty(t, store.NewMemory())
	send(t, f.Broker, "orders", "a")
	p := receiver(t, f.Broker, amqp.Attach{Address: "orders"})
	p.give(1)
	d, m := p.next()
	f.hit(fault.ServiceBusDetach)
	f.wantDetach("complete", p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}))
	if s := f.stats(); s.Locked != 1 {
		t.Errorf("counts %+v", s)
	}
	if err := f.completeByRequest("orders", m); err != nil || f.stats() != (QueueStats{Name: "Orders"}) {
		t.Errorf("complete by a request: %v, %+v", err, f.stats())
	}
}

func (f *faulty) completeByRequest(entity string, m *goamqp.Message) error {
	_, err := request(f.Broker, entity+"/$management", "com.microsoft:update-disposition", map[string]any{
		"disposition-status": "completed", "lock-tokens": []goamqp.UUID{m.DeliveryAnnotations[annLockToken].(goamqp.UUID)},
	})
	return err
}

// TestLockLost: by each operation that needs a lock. The message is there again
// each time, and the delivery has counted, but in the dead-letter sub-queue.
func TestLockLost(t *testing.T) {
	f := openFaulty(t, store.NewMemory())
	send(t, f.Broker, "orders", "a")
	p := receiver(t, f.Broker, amqp.Attach{Address: "orders"})
	operations := []func(d amqp.Delivery, m *goamqp.Message) error{
		func(d amqp.Delivery, _ *goamqp.Message) error {
			return p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted})
		},
		func(d amqp.Delivery, _ *goamqp.Message) error {
			return p.settle(d.Tag, amqp.Outcome{Kind: amqp.Rejected})
		},
		func(d amqp.Delivery, _ *goamqp.Message) error {
			return p.settle(d.Tag, amqp.Outcome{Kind: amqp.Released})
		},
		func(_ amqp.Delivery, m *goamqp.Message) error { return f.completeByRequest("orders", m) },
		func(_ amqp.Delivery, m *goamqp.Message) error {
			_, err := request(f.Broker, "orders/$management", "com.microsoft:renew-lock", map[string]any{
				"lock-tokens": []goamqp.UUID{m.DeliveryAnnotations[annLockToken].(goamqp.UUID)},
			})
			return err
		},
	}
	f.hit(fault.ServiceBusLockLost)
	for i, operation := range operations {
		p.give(1)
		d, m := p.next()
		if int(m.Header.DeliveryCount) != i {
			t.Errorf("delivery %d after %d lost locks", m.Header.DeliveryCount, i)
		}
		wantCondition(t, fmt.Sprint("operation ", i), operation(d, m), amqp.CondMessageLockLost)
		if s := f.stats(); s.Active != 1 || s.Locked != 0 {
			t.Errorf("counts %+v", s)
		}
	}
	f.hit()
	p.give(1)
	d, _ := p.next()
	if err := p.settle(d.Tag, amqp.Outcome{Kind: amqp.Rejected}); err != nil {
		t.Fatal(err)
	}
	dead := receiver(t, f.Broker, amqp.Attach{Address: "orders/$deadletterqueue"})
	f.hit(fault.ServiceBusLockLost)
	for range 12 { // more than the max delivery count
		dead.give(1)
		d, m := dead.next()
		if int(m.Header.DeliveryCount) != len(operations) {
			t.Errorf("delivery %d of the dead letter", m.Header.DeliveryCount)
		}
		wantCondition(t, "complete", dead.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}), amqp.CondMessageLockLost)
	}
}

// TestCompletionLost: the link ends, the message comes again, and the old lock
// is good for nothing.
func TestCompletionLost(t *testing.T) {
	f := openFaulty(t, store.NewMemory())
	send(t, f.Broker, "orders", "a")
	p := receiver(t, f.Broker, amqp.Attach{Address: "orders"})
	p.give(1)
	d, m := p.next()
	f.hit(fault.ServiceBusDuplicate)
	f.wantDetach("complete", p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}))
	wantCondition(t, "complete by a request", f.completeByRequest("orders", m), amqp.CondMessageLockLost)
	wantCondition(t, "complete a second time", p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}), amqp.CondMessageLockLost)
	p.give(1)
	d, m = p.next()
	if string(m.GetData()) != "a" || m.Header.DeliveryCount != 1 {
		t.Errorf("received %q, delivery %d", m.GetData(), m.Header.DeliveryCount)
	}
	if err := p.settle(d.Tag, amqp.Outcome{Kind: amqp.Released}); err != nil { // no completion
		t.Error(err)
	}
	f.hit()
	p.give(1)
	d, _ = p.next()
	if err := p.settle(d.Tag, amqp.Outcome{Kind: amqp.Accepted}); err != nil || f.stats() != (QueueStats{Name: "Orders"}) {
		t.Errorf("complete: %v, %+v", err, f.stats())
	}
}

// TestReorder: the last message overtakes, as long as there is one to overtake.
func TestReorder(t *testing.T) {
	f := openFaulty(t, store.NewMemory())
	send(t, f.Broker, "orders", "a", "b", "c")
	f.hit(fault.ServiceBusReorder)
	p := receiver(t, f.Broker, amqp.Attach{Address: "orders"})
	p.give(2)
	got := p.body() + p.body()
	f.hit()
	send(t, f.Broker, "orders", "d")
	p.give(2)
	if got += p.body() + p.body(); got != "cbad" {
		t.Errorf("order %s", got)
	}
	if c := f.in.Counts()[fault.ServiceBusReorder]; c.Asked != 2 || c.Hit != 2 {
		t.Errorf("counts %+v", c)
	}
}
