package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// Relay on all of its adapters lives through a hub that is deleted and created
// again: producer, reader and checkpoint go on with the new one, from its
// beginning, by the trigger's batches in one partition and by the timer in the
// other.
func TestAdaptersRelayInARecreatedHub(t *testing.T) {
	connection, _, hubs := adaptersBroker(t, broker.Config{
		Hubs:   []broker.HubConfig{{Name: adaptersHub, Partitions: 2, ConsumerGroups: []string{"relay"}}},
		Queues: []broker.QueueConfig{{Name: "deliveries", DuplicateWindow: 10 * time.Minute}},
	})
	checkpoints := cosmosdb.NewCheckpoints(adaptersOpen(t))
	var log strings.Builder
	reader := adaptersReader(t, connection, "$Default")
	producer := adaptersProducer(t, connection, adaptersHub)
	var ahead time.Duration // how far the service's clock is
	service := relay.New(relay.Config{
		Queue: "deliveries", Sender: adaptersSender(t, connection), Checkpoints: checkpoints, Reader: reader,
		Hub: adaptersHub, ConsumerGroup: "relay", Quiet: time.Minute,
		Now: func() time.Time { return time.Now().Add(ahead) }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	send := func(partition, name string, n int) {
		var events []ingest.Event
		for i := range n {
			body, err := engine.Envelope{
				TransactionID: "t", OperationID: fmt.Sprint(name, i), Operation: "start", AcceptedAt: time.Now(), Body: json.RawMessage("{}"),
			}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, ingest.Event{TransactionID: "t", Body: body})
		}
		if err := producer.Send(t.Context(), partition, events); err != nil {
			t.Fatal(err)
		}
	}
	trigger := func(after, before int64) {
		events, err := reader.Between(t.Context(), "0", after, before)
		if err != nil || len(events) == 0 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if err := service.Relay(t.Context(), relay.Batch{Hub: adaptersHub, ConsumerGroup: "relay", Partition: "0", Events: events}); err != nil {
			t.Fatal(err)
		}
	}

	send("0", "old-", 10)
	send("1", "old-quiet-", 3)
	trigger(-1, 10)
	ahead = time.Hour
	if n, err := service.CatchUp(t.Context()); err != nil || n != 3 {
		t.Fatalf("%d events, %v", n, err)
	}
	before, err := reader.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := hubs.RecreateHub(adaptersHub); err != nil {
		t.Fatal(err)
	}
	after, err := reader.Hub(t.Context())
	if err != nil || !after.CreatedAt.After(before.CreatedAt) {
		t.Fatalf("created %v, again %v, %v", before.CreatedAt, after.CreatedAt, err)
	}
	send("0", "new-", 7)
	send("1", "new-quiet-", 2)
	ahead = 2 * time.Hour
	trigger(4, 7) // the first five are skipped
	if n, err := service.CatchUp(t.Context()); err != nil || n != 2 {
		t.Errorf("%d events, %v", n, err)
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
	var want []string
	for name, n := range map[string]int{"old-": 10, "old-quiet-": 3, "new-": 7, "new-quiet-": 2} {
		for i := range n {
			want = append(want, fmt.Sprint(name, i))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if n := strings.Count(log.String(), "the hub was recreated"); n != 2 {
		t.Errorf("the log says %d times that the hub was recreated, want once per partition\n%s", n, log.String())
	}
	for partition, last := range map[string]int64{"0": 6, "1": 1} {
		c, _, err := checkpoints.Read(t.Context(), adaptersHub+".relay."+partition)
		if err != nil || c.SequenceNumber != last || !c.HubCreatedAt.Equal(after.CreatedAt) {
			t.Errorf("checkpoint %+v, %v", c, err)
		}
	}
}
