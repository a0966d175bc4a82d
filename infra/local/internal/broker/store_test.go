package broker

import (
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// heldStore keeps commits back until it is told, and then may fail them.
type heldStore struct {
	*store.Memory
	mu   sync.Mutex
	held []func(error)
	hold bool
	came chan struct{} // has room for one
}

func newHeldStore() *heldStore {
	return &heldStore{Memory: store.NewMemory(), came: make(chan struct{}, 1)}
}

func (s *heldStore) All(prefix string) iter.Seq2[string, []byte] { return s.Memory.All(prefix) }

func (s *heldStore) Commit(b store.Batch, done func(error)) {
	s.mu.Lock()
	if s.hold {
		s.held = append(s.held, func(err error) {
			if err != nil {
				done(err)
				return
			}
			s.Memory.Commit(b, done)
		})
		s.mu.Unlock()
		select {
		case s.came <- struct{}{}:
		default:
		}
		return
	}
	s.mu.Unlock()
	s.Memory.Commit(b, done)
}

func (s *heldStore) setHold(hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

// let answers what is held, with err, and holds nothing any more.
func (s *heldStore) let(err error) {
	s.mu.Lock()
	held := s.held
	s.held, s.hold = nil, false
	s.mu.Unlock()
	for _, f := range held {
		f(err)
	}
}

// TestNothingIsToldBeforeItIsKept: an outcome and a delivery wait for the store;
// so does what readers of a hub see.
func TestNothingIsToldBeforeItIsKept(t *testing.T) {
	for _, c := range []struct{ to, from string }{
		{"orders", "orders"}, {"hub/partitions/0", "hub/consumergroups/$default/partitions/0"},
	} {
		t.Run(c.to, func(t *testing.T) {
			s := newHeldStore()
			b := open(t, testConfig(), s)
			p := receiver(t, b, amqp.Attach{Address: c.from})
			p.give(5)
			sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: c.to})
			if err != nil {
				t.Fatal(err)
			}
			s.setHold(true)
			told := make(chan error, 1)
			sink.Transfer(amqp.Transfer{Payload: []byte{0, 0x53, 0x75, 0xa0, 1, 'x'}}, func(err error) { told <- err })
			<-s.came
			select {
			case err := <-told:
				t.Errorf("told %v before it was kept", err)
			default:
			}
			if n, _ := p.counts(); n > 0 {
				t.Error("delivered before it was kept")
			}
			if n := b.Stats().Hubs[0].Partitions[0].Last; n != -1 {
				t.Errorf("readers see %d before it was kept", n)
			}
			s.let(nil)
			if err := <-told; err != nil {
				t.Errorf("told %v", err)
			}
			if body := p.body(); body != "x" {
				t.Errorf("delivered %q", body)
			}
		})
	}
}

// TestStoreFails: who waits hears of it, links end, and nothing is taken any
// more.
func TestStoreFails(t *testing.T) {
	s := newHeldStore()
	b := open(t, testConfig(), s)
	p := receiver(t, b, amqp.Attach{Address: "orders"})
	p.give(1)
	sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	s.setHold(true)
	told := make(chan error, 2)
	put := func() {
		sink.Transfer(amqp.Transfer{Payload: []byte{0, 0x53, 0x75, 0xa0, 1, 'x'}}, func(err error) { told <- err })
	}
	put()
	<-s.came
	s.let(errors.New("disk full"))
	wantCondition(t, "the waiting sender", <-told, amqp.CondInternalError)
	p.wait("the detach", func() bool { return p.detached != nil })
	wantCondition(t, "the receiver", p.ended(), amqp.CondInternalError)
	put()
	wantCondition(t, "the next message", <-told, amqp.CondInternalError)
	if _, _, err := b.OpenSource(t.Context(), amqp.Attach{Conn: conn, Address: "orders"}, newPeer(t)); err == nil {
		t.Error("a failed queue takes receivers")
	}
	send(t, b, "hub", "y") // other entities go on
	if n, _ := p.counts(); n > 0 {
		t.Error("something was delivered")
	}
}

func TestCloseRefuses(t *testing.T) {
	s := store.NewMemory()
	b := open(t, testConfig(), s)
	p := receiver(t, b, amqp.Attach{Address: "hub/ConsumerGroups/relay/Partitions/1"})
	again := open(t, testConfig(), s)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	p.wait("the detach", func() bool { return p.detached != nil })
	wantCondition(t, "send", transfer(t, b, "orders", 0, []byte{0, 0x53, 0x75, 0xa0, 1, 'x'}), amqp.CondConnectionForced)
	wantCondition(t, "send", transfer(t, b, "hub", 0, []byte{0, 0x53, 0x75, 0xa0, 1, 'x'}), amqp.CondConnectionForced)
	first, second := created(t, b), created(t, again)
	if !first.Equal(second) || time.Since(first) > time.Minute {
		t.Error("the hub was created twice")
	}
}

// gone is a store that has lost the contents of the first message and the first
// event.
type gone struct {
	*store.Memory
	lost func() // called at each loss; nil for nothing
}

func (s gone) Get(key string) ([]byte, error) {
	if strings.HasSuffix(key, "content/0000000000000001") || strings.HasSuffix(key, "events/0000000000000000") {
		if s.lost != nil {
			s.lost()
		}
		return nil, store.ErrAbsent
	}
	return s.Memory.Get(key)
}

// TestGoneContentIsPassedOver: what has gone between its choice and its delivery, as
// after another receiver's completion or with retention, costs the receiver no
// credit.
func TestGoneContentIsPassedOver(t *testing.T) {
	for _, c := range []struct{ to, from string }{
		{"orders", "orders"}, {"hub/partitions/0", "hub/consumergroups/$default/partitions/0"},
	} {
		t.Run(c.to, func(t *testing.T) {
			var b *Broker
			missed := make(chan struct{})
			b = open(t, testConfig(), gone{store.NewMemory(), func() {
				hub, _ := b.hub("hub")
				p := hub.partitions[0]
				p.mu.Lock()
				defer p.mu.Unlock()
				p.keep(p.events.Expire(time.Now().Add(1000 * time.Hour)))
				close(missed) // a second time would panic
			}})
			p := receiver(t, b, amqp.Attach{Address: c.from})
			p.give(1)
			send(t, b, c.to, "gone")
			<-missed
			send(t, b, c.to, "here")
			if body := p.body(); body != "here" {
				t.Errorf("got %q", body)
			}
		})
	}
	b := open(t, testConfig(), gone{Memory: store.NewMemory()})
	send(t, b, "orders", "gone", "here")
	r, err := request(b, "orders/$management", "com.microsoft:peek-message", map[string]any{"from-sequence-number": int64(0), "message-count": int32(9)})
	if list, _ := r.Body.(map[string]any)["messages"].([]any); err != nil || len(list) != 1 {
		t.Errorf("peeked %v, %v", r.Body, err)
	}
}

// TestLostEventIsNoSilence: an event that retention has not dropped and the store
// does not have ends the link.
func TestLostEventIsNoSilence(t *testing.T) {
	b := open(t, testConfig(), gone{Memory: store.NewMemory()})
	p := receiver(t, b, amqp.Attach{Address: "hub/consumergroups/$default/partitions/0"})
	p.give(1)
	send(t, b, "hub/partitions/0", "lost")
	p.wait("the detach", func() bool { return p.detached != nil })
	wantCondition(t, "the receiver", p.ended(), amqp.CondInternalError)
}
