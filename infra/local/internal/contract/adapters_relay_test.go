package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/eventhubs"
	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

func adaptersReader(t *testing.T, connection, group string) *eventhubs.Reader {
	t.Helper()
	r, err := eventhubs.OpenReader(eventhubs.Connection{ConnectionString: connection}, adaptersHubOptions(adaptersHub), group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close reader: %v", err)
		}
	})
	return r
}

func TestAdaptersReaderReadsBetween(t *testing.T) {
	connection := adaptersHubs(t)
	p := adaptersProducer(t, connection, adaptersHub)
	r := adaptersReader(t, connection, "$Default")
	if events, err := r.Between(t.Context(), "1", -1, 5); err != nil || len(events) != 0 {
		t.Errorf("an empty partition: %v, %v", events, err)
	}
	const total = eventhubs.MaxRead + 50
	var sent []message.Event
	for i := range total {
		sent = append(sent, message.Event{PartitionKey: "t-1", Body: []byte(fmt.Sprint(i)), TraceParent: "trace"})
	}
	if err := p.Send(t.Context(), "1", sent); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ after, before, first, n int64 }{
		{-1, 3, 0, 3},
		{4, 8, 5, 3},
		{4, 5, 0, 0},
		{total - 3, total - 1, total - 2, 1},
		{total - 3, total + 10, total - 2, 2},
		{total - 1, total + 10, 0, 0},
		{-1, total, 0, eventhubs.MaxRead},
	}
	for _, c := range cases {
		events, err := r.Between(t.Context(), "1", c.after, c.before)
		if err != nil || int64(len(events)) != c.n {
			t.Errorf("between %d and %d: %d events, %v; want %d", c.after, c.before, len(events), err, c.n)
			continue
		}
		for i, e := range events {
			want := c.first + int64(i)
			if e.SequenceNumber != want || string(e.Body) != fmt.Sprint(want) || e.EnqueuedAt.IsZero() ||
				e.Offset == "" || e.Properties["traceparent"] != "trace" {
				t.Errorf("between %d and %d: event %d is %+v", c.after, c.before, i, e)
			}
		}
	}
}

// Relay on all of its adapters: a batch that the trigger has skipped arrives
// with the next one, and an unreadable event is in quarantine.
func TestAdaptersRelay(t *testing.T) {
	connection, _ := adaptersMessaging(t, broker.Config{
		Hubs:   []broker.HubConfig{{Name: adaptersHub, Partitions: 1, ConsumerGroups: []string{"relay"}}},
		Queues: []broker.QueueConfig{{Name: "deliveries", DuplicateWindow: 10 * time.Minute}},
	})
	db := adaptersOpen(t)
	checkpoints, err := cosmosdb.NewCheckpoints(db)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := cosmosdb.NewQuarantine(db)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	reader := adaptersReader(t, connection, "$Default")
	service := relay.New(relay.Config{
		Queue: "deliveries", Sender: adaptersSender(t, connection),
		Quarantine:  quarantine.New(quarantine.Config{Store: kept, Now: time.Now, Logger: logger}),
		Checkpoints: checkpoints, Reader: reader, Logger: logger,
	})

	var sent []message.Event
	for i := range 6 {
		body, err := message.Envelope{
			TransactionID: fmt.Sprint("t-", i), OperationID: fmt.Sprint("o-", i), Operation: "deliver",
			AcceptedAt: time.Now(), Body: json.RawMessage("{}"),
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			body = []byte("unreadable")
		}
		sent = append(sent, message.Event{PartitionKey: fmt.Sprint("t-", i), Body: body})
	}
	if err := adaptersProducer(t, connection, adaptersHub).Send(t.Context(), "0", sent); err != nil {
		t.Fatal(err)
	}
	batch := func(after, before int64) relay.Batch {
		events, err := reader.Between(t.Context(), "0", after, before)
		if err != nil {
			t.Fatal(err)
		}
		return relay.Batch{Hub: adaptersHub, ConsumerGroup: "relay", Partition: "0", Events: events}
	}
	for _, b := range []relay.Batch{batch(-1, 1), batch(4, 6), batch(4, 6)} { // 1 to 4 are skipped, 5 comes twice
		if err := service.Relay(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("close client: %v", err)
		}
	}()
	got := adaptersPeek(t, client, "deliveries")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"o-0", "o-1", "o-3", "o-4", "o-5"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	entry, err := kept.Read(t.Context(), "delivery-requests.0", "delivery-requests.0.2")
	if err != nil || entry.Body != "unreadable" || entry.Reason != quarantine.ReasonUnreadable {
		t.Errorf("quarantine: %+v, %v", entry, err)
	}
	c, _, err := checkpoints.Read(t.Context(), adaptersHub+".relay.0")
	if err != nil || c.SequenceNumber != 5 {
		t.Errorf("checkpoint %+v, %v", c, err)
	}
}
