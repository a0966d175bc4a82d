package contract

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A durableDisk is a store on a file system that can lose power.
type durableDisk struct {
	*store.Disk
	files *filestest.Memory
}

func durableOpen(t *testing.T, files *filestest.Memory) durableDisk {
	t.Helper()
	d, err := store.OpenDisk("data", store.Options{FS: files})
	must(t, "open the disk", err)
	t.Cleanup(func() { must(t, "close the disk", d.Close()) })
	return durableDisk{d, files}
}

// powerCut gives what is there after one: what was synced, and nothing else.
func (d durableDisk) powerCut(t *testing.T) durableDisk {
	t.Helper()
	return durableOpen(t, d.files.PowerCut(0, nil))
}

// durableClock is the system's clock, moved ahead.
type durableClock struct{ ahead atomic.Int64 }

func (c *durableClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// durableState is all that clients can see of a queue and a hub.
type durableState struct {
	Stats      broker.Stats
	Main, Dead []*azservicebus.ReceivedMessage
	Events     map[string][]*azeventhubs.ReceivedEventData // by partition
	Partitions []azeventhubs.PartitionProperties
}

func durableLook(t *testing.T, m *emulated) durableState {
	t.Helper()
	client := m.serviceBus(t)
	peek := func(r *azservicebus.Receiver) []*azservicebus.ReceivedMessage {
		t.Helper()
		all, err := r.PeekMessages(testContext(t), 100, &azservicebus.PeekMessagesOptions{FromSequenceNumber: ptr(int64(0))})
		must(t, "peek", err)
		return all
	}
	s := durableState{
		Stats: m.Stats(), Main: peek(newReceiver(t, client, nil)), Dead: peek(deadLetters(t, client)),
		Events: map[string][]*azeventhubs.ReceivedEventData{},
	}
	for _, p := range s.Stats.Hubs[0].Partitions {
		if p.Last >= p.First {
			reader := openPartition(t, m, "relay", p.ID, &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
			s.Events[p.ID] = receiveEvents(t, reader, int(p.Last+1-p.First))
		}
		properties, err := newConsumer(t, m, "relay").GetPartitionProperties(testContext(t), p.ID, nil)
		must(t, "get properties", err)
		s.Partitions = append(s.Partitions, properties)
	}
	return s
}

// durableFill leaves a message in each state, and events with and without a key,
// and returns the locked message.
func durableFill(t *testing.T, m *emulated) *azservicebus.ReceivedMessage {
	t.Helper()
	client := m.serviceBus(t)
	s, r := newSender(t, client), newReceiver(t, client, nil)
	send(t, s, text("locked"), text("dead"), &azservicebus.Message{MessageID: ptr("abandoned"), Body: []byte("abandoned")},
		text("deferred"), &azservicebus.Message{Body: []byte("short-lived"), TimeToLive: ptr(30 * time.Minute)})
	_, err := s.ScheduleMessages(testContext(t), []*azservicebus.Message{text("scheduled")}, time.Now().Add(time.Hour), nil)
	must(t, "schedule", err)
	got := receive(t, r, 4)
	must(t, "dead-letter", r.DeadLetterMessage(testContext(t), got[1], &azservicebus.DeadLetterOptions{
		Reason: ptr("test"), ErrorDescription: ptr("a test"), PropertiesToModify: map[string]any{"n": int64(7)}}))
	must(t, "abandon", r.AbandonMessage(testContext(t), got[2], &azservicebus.AbandonMessageOptions{
		PropertiesToModify: map[string]any{"why": "test"}}))
	must(t, "defer", r.DeferMessage(testContext(t), got[3], nil))
	sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("1")}, "e0", "e1", "e2")
	for i := range 6 {
		sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionKey: ptr(fmt.Sprintf("key %d", i))}, "keyed", "too")
	}
	return got[0]
}

func durableConfig(clock *durableClock) broker.Config {
	cfg := messagingConfig()
	cfg.Queues[0].DuplicateWindow = 3 * time.Hour
	cfg.Hubs[0].Retention = 24 * time.Hour
	cfg.Now = clock.now
	return cfg
}

// durableServe serves until the test ends.
func durableServe(t *testing.T, cfg broker.Config, s store.Store) *emulated {
	t.Helper()
	m := serveMessaging(t, cfg, s)
	t.Cleanup(func() { m.stop(t) })
	return m
}

// Ensure that a power cut leaves every message in its state and every event in
// its place: what clients see afterwards is what they saw before, and it goes on
// from there.
func TestDurableMessaging(t *testing.T) {
	t.Parallel()
	cfg := durableConfig(new(durableClock))
	disk := durableOpen(t, filestest.NewMemory())
	first := durableServe(t, cfg, disk)
	locked := durableFill(t, first)
	before := durableLook(t, first)
	if len(before.Main) != 5 || len(before.Dead) != 1 || len(before.Events["1"]) < 3 || len(before.Events) < 2 {
		t.Errorf("there are only %d and %d messages, and %v", len(before.Main), len(before.Dead), before.Events)
	}

	second := durableServe(t, cfg, disk.powerCut(t))
	if diff := cmp.Diff(before, durableLook(t, second),
		cmpopts.IgnoreUnexported(azservicebus.ReceivedMessage{}, azeventhubs.ReceivedEventData{}),
		cmpopts.IgnoreFields(azservicebus.ReceivedMessage{}, "RawAMQPMessage"),
		cmpopts.IgnoreFields(azeventhubs.ReceivedEventData{}, "RawAMQPMessage"),
		cmpopts.IgnoreFields(broker.PartitionStats{}, "Readers"),
	); diff != "" {
		t.Fatalf("before (-) and after (+) the power cut:\n%s", diff)
	}
	client := second.serviceBus(t)
	r := newReceiver(t, client, nil)
	must(t, "complete with the lock of before", r.CompleteMessage(testContext(t), locked, nil))
	deferred, err := r.ReceiveDeferredMessages(testContext(t), []int64{4}, nil)
	must(t, "receive deferred", err)
	if len(deferred) != 1 || string(deferred[0].Body) != "deferred" {
		t.Errorf("deferred: %v", deferred)
	}
	// Numbers go on, and ids are known.
	send(t, newSender(t, client), &azservicebus.Message{MessageID: ptr("abandoned"), Body: []byte("again")}, text("new"))
	durableWant(t, r, "abandoned as 3, delivery 2", "short-lived as 5, delivery 1", "new as 7, delivery 1")
	next := before.Partitions[1].LastEnqueuedSequenceNumber + 1
	sendEvents(t, second, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("1")}, "next")
	events := durableLook(t, second).Events["1"]
	if last := events[len(events)-1]; last.SequenceNumber != next || string(last.Body) != "next" {
		t.Errorf("the next event is %d, %q, want it as %d", last.SequenceNumber, last.Body, next)
	}
}

// durableWant receives messages and compares.
func durableWant(t *testing.T, r *azservicebus.Receiver, want ...string) {
	t.Helper()
	var got []string
	for _, msg := range receive(t, r, len(want)) {
		got = append(got, fmt.Sprintf("%s as %d, delivery %d", msg.Body, *msg.SequenceNumber, msg.DeliveryCount))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received, want (-), got (+):\n%s", diff)
	}
}

// Ensure that time that passes while nothing runs counts: a lock has ended and
// its delivery counts, a schedule was reached, a time to live is over.
func TestDurableMessagingLater(t *testing.T) {
	t.Parallel()
	var clock durableClock
	cfg := durableConfig(&clock)
	disk := durableOpen(t, filestest.NewMemory())
	durableFill(t, durableServe(t, cfg, disk))

	cut := disk.powerCut(t)
	clock.ahead.Store(int64(90 * time.Minute)) // the clients' tokens, made by the real clock, are good for two hours
	second := durableServe(t, cfg, cut)
	client := second.serviceBus(t)
	durableWant(t, newReceiver(t, client, nil), "locked as 1, delivery 2", "abandoned as 3, delivery 2", "scheduled as 7, delivery 1")
	durableWant(t, deadLetters(t, client), "dead as 2, delivery 1", "short-lived as 5, delivery 1")
}

// Ensure that settings may change over what is kept: they hold for what comes,
// and entities that are not named keep what they have.
func TestDurableMessagingWithOtherSettings(t *testing.T) {
	t.Parallel()
	var clock durableClock
	cfg := durableConfig(&clock)
	disk := durableOpen(t, filestest.NewMemory())
	durableFill(t, durableServe(t, cfg, disk))

	// Other entities alone.
	other := cfg
	other.Queues = []broker.QueueConfig{{Name: "other-queue"}}
	other.Hubs = []broker.HubConfig{{Name: "other-hub", Partitions: 1}}
	disk = disk.powerCut(t)
	durableServe(t, other, disk)

	// More partitions are refused, in words.
	more := cfg
	more.Hubs = []broker.HubConfig{{Name: hubName, Partitions: 5}}
	_, err := broker.New(more, disk.powerCut(t), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "created with 4 partitions and can't have 5 now") {
		t.Errorf("5 partitions: %v", err)
	}

	// A shorter lock, no dead-lettering: the lock that holds is as long as it was.
	changed := cfg
	changed.Queues = []broker.QueueConfig{{Name: queueName, LockDuration: 5 * time.Second, MaxDeliveryCount: 3, DefaultTTL: time.Minute}}
	m := durableServe(t, changed, disk.powerCut(t))
	client := m.serviceBus(t)
	state := durableLook(t, m)
	if first := state.Main[0]; string(first.Body) != "locked" || time.Until(*first.LockedUntil) < 30*time.Second {
		t.Errorf("%s is locked for %v", first.Body, time.Until(*first.LockedUntil))
	}
	send(t, newSender(t, client), text("new"))
	got := receive(t, newReceiver(t, client, nil), 3)
	if msg := got[2]; string(msg.Body) != "new" || *msg.TimeToLive != time.Minute || time.Until(*msg.LockedUntil) > 5*time.Second {
		t.Errorf("%s lives %v, locked for %v", msg.Body, *msg.TimeToLive, time.Until(*msg.LockedUntil))
	}
	if msg := got[1]; string(msg.Body) != "short-lived" || *msg.TimeToLive != 30*time.Minute {
		t.Errorf("%s lives %v", msg.Body, *msg.TimeToLive)
	}
}
