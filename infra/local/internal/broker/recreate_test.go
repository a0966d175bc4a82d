package broker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// read asks for the properties of the hub, or of a partition.
func read(t *testing.T, b *Broker, partition string) map[string]any {
	t.Helper()
	properties := map[string]any{"operation": "READ", "name": "hub", "type": "com.microsoft:eventhub"}
	if partition != "" {
		properties["type"], properties["partition"] = "com.microsoft:partition", partition
	}
	r, err := b.Request(t.Context(), amqp.Request{Conn: conn, Address: "$management", Properties: properties})
	if err != nil {
		t.Fatalf("read the hub: %v", err)
	}
	return r.Body.(map[string]any)
}

func created(t *testing.T, b *Broker) time.Time {
	t.Helper()
	return read(t, b, "")["created_at"].(time.Time)
}

const (
	relayed = "hub/ConsumerGroups/relay/Partitions/1"
	oneByte = "\x00\x53\x75\xa0\x01x"
)

// TestHoldHub: a hub that is held is busy for who sends, until it isn't.
func TestHoldHub(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "hub/Partitions/1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, hold := range []bool{true, false} {
		if err := b.HoldHub("Hub", hold); err != nil {
			t.Fatal(err)
		}
		told := make(chan error, 1)
		sink.Transfer(amqp.Transfer{Payload: []byte(oneByte)}, func(err error) { told <- err })
		if err := <-told; hold {
			wantCondition(t, "a send", err, amqp.CondServerBusy)
		} else if err != nil {
			t.Errorf("a send after it: %v", err)
		}
	}
	// A link to a hub that was held, and is gone, ends.
	if err := errors.Join(b.HoldHub("hub", true), b.RecreateHub("hub")); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	sink.Transfer(amqp.Transfer{Payload: []byte(oneByte)}, func(err error) { told <- err })
	if detach := new(amqp.DetachError); !errors.As(<-told, &detach) {
		t.Error("a link to the old hub is still told that it is busy")
	}
	wantCondition(t, "an unknown hub", b.HoldHub("other", true), amqp.CondNotFound)
}

// TestRecreateHubIf: a hub that may not be recreated stays as it was, and one
// that may not only once it takes no more events has lost its links alone.
func TestRecreateHubIf(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	first := created(t, b)
	send(t, b, "hub/Partitions/1", "a", "b", "c")
	for agreed := range 2 {
		p := receiver(t, b, amqp.Attach{Address: relayed})
		asked := 0
		done, err := b.RecreateHubIf("hub", func(ends []int64) bool {
			if len(ends) < 2 || ends[0] != 0 || ends[1] != 3 {
				t.Errorf("asked for the ends %v", ends)
			}
			asked++
			return asked <= agreed
		})
		if done || err != nil || asked != agreed+1 {
			t.Fatalf("recreated %v, %v, asked %d times", done, err, asked)
		}
		p.mu.Lock()
		if ended := p.detached != nil; ended != (agreed > 0) {
			t.Errorf("agreed %d times: links have ended: %v", agreed, ended)
		}
		p.mu.Unlock()
		if got := read(t, b, "1"); got["last_enqueued_sequence_number"] != int64(2) || !created(t, b).Equal(first) {
			t.Errorf("the hub has changed: %v", got)
		}
	}
	send(t, b, "hub/Partitions/1", "d")
	q := receiver(t, b, amqp.Attach{Address: relayed})
	q.give(10)
	q.wait("all events", func() bool { return len(q.got) == 4 })
}

// TestRecreateHub: all of the old hub is gone, also after a restart, and its
// links end.
func TestRecreateHub(t *testing.T) {
	s := store.NewMemory()
	b := open(t, testConfig(), s)
	first := created(t, b)
	send(t, b, "hub/Partitions/1", "a", "b", "c")
	send(t, b, "orders", "stays")
	p := receiver(t, b, amqp.Attach{Address: relayed})
	p.give(10)
	p.wait("the events", func() bool { return len(p.got) == 3 })
	sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "hub"})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.RecreateHub("HUB"); err != nil {
		t.Fatal(err)
	}
	p.wait("the detach", func() bool { return p.detached != nil })
	wantCondition(t, "the receiver", p.ended(), amqp.CondDetachForced)
	told := make(chan error, 1)
	sink.Transfer(amqp.Transfer{Payload: []byte(oneByte)}, func(err error) { told <- err })
	if detach, ok := (<-told).(*amqp.DetachError); !ok {
		t.Error("a link to the old hub still takes events")
	} else {
		wantCondition(t, "the sender", detach.Reason, amqp.CondDetachForced)
	}
	if got := read(t, b, "1"); got["last_enqueued_sequence_number"] != int64(-1) || got["is_partition_empty"] != true {
		t.Errorf("the new hub has %v", got)
	}
	// Where the old hub ended is no place in the new one.
	_, _, err = b.OpenSource(t.Context(), amqp.Attach{
		Conn: conn, Address: relayed, Filters: map[string]any{selectorFilter: "amqp.annotation.x-opt-sequence-number > '2'"},
	}, newPeer(t))
	wantCondition(t, "a reader from where the old hub ended", err, amqp.CondArgumentOutOfRange)

	send(t, b, "hub/Partitions/1", "new")
	q := receiver(t, b, amqp.Attach{Address: relayed})
	q.give(10)
	if d, _ := q.next(); string(d.Tag) != "0" {
		t.Errorf("the first event of the new hub has the number %s", d.Tag)
	}
	second := created(t, b)
	if !second.After(first) {
		t.Errorf("created %v, and again %v", first, second)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, testConfig(), s)
	if got := created(t, again); !got.Equal(second) {
		t.Errorf("after a restart it was created %v, want %v", got, second)
	}
	if got := read(t, again, "1"); got["last_enqueued_sequence_number"] != int64(0) {
		t.Errorf("after a restart it has %v", got)
	}
	if n := again.Stats().Queues[0].Active; n != 1 {
		t.Errorf("%d messages are in the queue, want that it stays as it was", n)
	}
}

// A hub that is recreated within a millisecond, or while the clock goes back,
// still tells by its time that it is another one.
func TestRecreatedHubIsALaterOne(t *testing.T) {
	c := testConfig()
	at := time.UnixMilli(1_700_000_000_000)
	c.Now = func() time.Time { return at }
	b := open(t, c, store.NewMemory())
	last := created(t, b)
	for range 3 {
		if err := b.RecreateHub("hub"); err != nil {
			t.Fatal(err)
		}
		if got := created(t, b); !got.After(last) {
			t.Fatalf("created %v after %v", got, last)
		}
		last = created(t, b)
	}
}

// Senders, readers and a hub that is recreated do not get in each other's way.
func TestRecreateHubUnderLoad(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "hub"})
			if err != nil {
				ended <- fmt.Errorf("open: %w", err)
				return
			}
			done := make(chan error, 1)
			sink.Transfer(amqp.Transfer{Payload: []byte(oneByte)}, func(err error) { done <- err })
			if err := <-done; err != nil {
				if _, ok := err.(*amqp.DetachError); !ok {
					ended <- fmt.Errorf("transfer: %w", err)
					return
				}
			}
		}
	}()
	for range 20 {
		p := newPeer(t)
		source, _, err := b.OpenSource(t.Context(), amqp.Attach{Conn: conn, Address: relayed}, p)
		if err != nil {
			t.Fatal(err)
		}
		p.source = source
		p.give(1000)
		if err := b.RecreateHub("hub"); err != nil {
			t.Fatal(err)
		}
		if p.ended() == nil {
			t.Error("a reader of the old hub was not told")
		}
		source.Close()
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRecreateHubFails(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	wantCondition(t, "an unknown hub", b.RecreateHub("other"), amqp.CondNotFound)
	wantCondition(t, "a queue", b.RecreateHub("orders"), amqp.CondNotFound)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantCondition(t, "a closed broker", b.RecreateHub("hub"), amqp.CondConnectionForced)
}

// TestDisableSends: a hub that is set to refuse takes nothing, on links that are open and on new
// ones, also after a restart, until it is Active again; one that is recreated is Active.
func TestDisableSends(t *testing.T) {
	s := store.NewMemory()
	b := open(t, testConfig(), s)
	sink, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "hub/Partitions/1"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(what string, refused bool) {
		t.Helper()
		told := make(chan error, 1)
		sink.Transfer(amqp.Transfer{Payload: []byte(oneByte)}, func(err error) { told <- err })
		var detached *amqp.DetachError
		if err := <-told; refused != errors.As(err, &detached) || refused && detached.Reason.Condition != amqp.CondEntityDisabled {
			t.Errorf("%s: %v", what, err)
		}
	}
	attach := func(what string, b *Broker, refused bool) {
		t.Helper()
		_, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: "hub"})
		if refused {
			wantCondition(t, what, err, amqp.CondEntityDisabled)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	disable := func(disabled bool) {
		t.Helper()
		if err := b.DisableSends("Hub", disabled); err != nil {
			t.Fatal(err)
		}
	}
	send("active", false)
	disable(true)
	send("refusing", true)
	attach("refusing", b, true)
	disable(false)
	send("active again", false)
	disable(true)
	attach("after a restart", open(t, testConfig(), s), true)
	if err := b.RecreateHub("hub"); err != nil {
		t.Fatal(err)
	}
	attach("recreated", b, false)
	if got := read(t, b, "1")["last_enqueued_sequence_number"]; got != int64(-1) {
		t.Errorf("recreated: last event %v", got)
	}
	wantCondition(t, "a hub that isn't there", b.DisableSends("nothing", true), amqp.CondNotFound)
}
