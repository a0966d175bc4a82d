package contract

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// TestMessagingRestart stops everything and serves the same store again.
func TestMessagingRestart(t *testing.T) {
	t.Parallel()
	cfg := messagingConfig()
	cfg.Queues[0].DuplicateWindow = time.Hour
	s := store.NewMemory()
	first := serveMessaging(t, cfg, s)
	locked := fillBeforeRestart(t, first)
	before := first.Stats()
	first.stop(t)

	second := serveMessaging(t, cfg, s)
	t.Cleanup(func() { second.stop(t) })
	if diff := cmp.Diff(before, second.Stats()); diff != "" {
		t.Fatalf("before (-) and after (+) differ:\n%s", diff)
	}
	c := second.serviceBus(t)
	r := newReceiver(t, c, nil)
	// The lock outlives the restart.
	must(t, "complete", r.CompleteMessage(testContext(t), locked, nil))
	msg := receiveOne(t, r)
	if string(msg.Body) != "abandoned" || msg.DeliveryCount != 2 || msg.ApplicationProperties["why"] != "test" {
		t.Errorf("received %q, delivery %d, %v", msg.Body, msg.DeliveryCount, msg.ApplicationProperties)
	}
	id := "abandoned"
	send(t, newSender(t, c), &azservicebus.Message{MessageID: &id, Body: []byte("again")}, text("new"))
	if msg := receiveOne(t, r); string(msg.Body) != "new" || *msg.SequenceNumber != 5 {
		t.Errorf("received %q as %d", msg.Body, *msg.SequenceNumber)
	}
	if msg := receiveOne(t, deadLetters(t, c)); string(msg.Body) != "dead" || *msg.DeadLetterReason != "test" {
		t.Errorf("dead letter %q, %q", msg.Body, *msg.DeadLetterReason)
	}
	partition := openPartition(t, second, "$Default", "1", &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
	if got := bodies(receiveEvents(t, partition, 3)); !cmp.Equal(got, []string{"e0", "e1", "e2"}) {
		t.Errorf("events %v", got)
	}
}

// fillBeforeRestart leaves a message in each state, and three events, and
// returns the locked message.
func fillBeforeRestart(t *testing.T, m *emulated) *azservicebus.ReceivedMessage {
	t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(m.connection, nil)
	must(t, "new client", err)
	defer func() { must(t, "close", client.Close(testContext(t))) }()
	s, r := newSender(t, client), newReceiver(t, client, nil)
	id, reason := "abandoned", "test"
	send(t, s, text("locked"), text("dead"), &azservicebus.Message{MessageID: &id, Body: []byte(id)})
	_, err = s.ScheduleMessages(testContext(t), []*azservicebus.Message{text("scheduled")}, time.Now().Add(time.Hour), nil)
	must(t, "schedule", err)
	got := receive(t, r, 3)
	must(t, "dead-letter", r.DeadLetterMessage(testContext(t), got[1], &azservicebus.DeadLetterOptions{Reason: &reason}))
	must(t, "abandon", r.AbandonMessage(testContext(t), got[2], &azservicebus.AbandonMessageOptions{
		PropertiesToModify: map[string]any{"why": "test"},
	}))
	sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("1")}, "e0", "e1", "e2")
	return got[0]
}
