package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/messaging"
)

const adaptersHub = "requests"

// adaptersHubs serves a hub with four partitions.
func adaptersHubs(t *testing.T) string {
	t.Helper()
	connection, _ := adaptersMessaging(t, broker.Config{Hubs: []broker.HubConfig{{Name: adaptersHub, Partitions: 4}}})
	return connection
}

func adaptersHubOptions() messaging.Options {
	return messaging.Options{Timeout: 5 * time.Second, Retries: 1, RetryDelay: 10 * time.Millisecond}
}

func adaptersProducer(t *testing.T, connection, hub string) *messaging.Producer {
	t.Helper()
	p, err := messaging.OpenProducer(messaging.Connection{ConnectionString: connection}, hub, adaptersHubOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close producer: %v", err)
		}
	})
	return p
}

// adaptersEvents reads the first n events of a partition.
func adaptersEvents(t *testing.T, connection, partition string, n int) []*azeventhubs.ReceivedEventData {
	t.Helper()
	consumer, err := azeventhubs.NewConsumerClientFromConnectionString(connection, adaptersHub, azeventhubs.DefaultConsumerGroup, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := consumer.Close(context.Background()); err != nil {
			t.Errorf("close consumer: %v", err)
		}
	}()
	client, err := consumer.NewPartitionClient(partition, &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{Earliest: to.Ptr(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("close partition client: %v", err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all []*azeventhubs.ReceivedEventData
	for len(all) < n {
		some, err := client.ReceiveEvents(ctx, n-len(all), nil)
		all = append(all, some...)
		if err != nil {
			t.Fatalf("received %d of %d events of partition %s: %v", len(all), n, partition, err)
		}
	}
	return all
}

func TestAdaptersProducerReadsPartitions(t *testing.T) {
	p := adaptersProducer(t, adaptersHubs(t), adaptersHub)
	ids, err := p.Partitions(t.Context())
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, ids); err != nil || diff != "" {
		t.Errorf("%v, partitions (-want +got):\n%s", err, diff)
	}
}

func TestAdaptersProducerSendsToThePartition(t *testing.T) {
	connection := adaptersHubs(t)
	p := adaptersProducer(t, connection, adaptersHub)
	if err := p.Send(t.Context(), "2", []ingest.Event{
		{TransactionID: "t-1", Body: []byte(`{"n":1}`), TraceParent: "00-1-2-01"},
		{TransactionID: "t-2", Body: []byte(`{"n":2}`)},
	}); err != nil {
		t.Fatal(err)
	}
	got := adaptersEvents(t, connection, "2", 2)
	if string(got[0].Body) != `{"n":1}` || got[0].Properties["traceparent"] != "00-1-2-01" ||
		*got[0].ContentType != "application/json" || got[0].SequenceNumber != 0 {
		t.Errorf("first event %+v", got[0])
	}
	if string(got[1].Body) != `{"n":2}` || len(got[1].Properties) != 0 || got[1].SequenceNumber != 1 {
		t.Errorf("second event %+v", got[1])
	}
}

// Events that do not fit into one batch are sent in several, in order.
func TestAdaptersProducerSplitsBatches(t *testing.T) {
	connection := adaptersHubs(t)
	p := adaptersProducer(t, connection, adaptersHub)
	var events []ingest.Event
	for i := range 40 {
		body := append([]byte{byte(i)}, bytes.Repeat([]byte{'x'}, 60<<10)...)
		events = append(events, ingest.Event{TransactionID: fmt.Sprint(i), Body: body})
	}
	if err := p.Send(t.Context(), "1", events); err != nil {
		t.Fatal(err)
	}
	for i, e := range adaptersEvents(t, connection, "1", len(events)) {
		if e.Body[0] != byte(i) || len(e.Body) != 60<<10+1 {
			t.Fatalf("event %d is %d, with %d bytes", i, e.Body[0], len(e.Body))
		}
	}
}

func TestAdaptersProducerIsRefused(t *testing.T) {
	connection := adaptersHubs(t)
	ctx := t.Context()
	p := adaptersProducer(t, connection, adaptersHub)
	e := []ingest.Event{{TransactionID: "t-1", Body: []byte("{}")}}
	adaptersKind(t, "unknown partition", p.Send(ctx, "9", e), failure.Permanent)
	adaptersKind(t, "too large", p.Send(ctx, "0", []ingest.Event{e[0], {Body: make([]byte, 2<<20)}}), failure.Invalid)

	absent := adaptersProducer(t, connection, "absent")
	_, err := absent.Partitions(ctx)
	adaptersKind(t, "partitions of an unknown hub", err, failure.Permanent)
	adaptersKind(t, "unknown hub", absent.Send(ctx, "0", e), failure.Permanent)

	wrong := strings.Replace(connection, "c2VjcmV0", "d3Jvbmc=", 1)
	adaptersKind(t, "wrong key", adaptersProducer(t, wrong, adaptersHub).Send(ctx, "0", e), failure.Permanent)

	nobody := "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true"
	adaptersKind(t, "nobody listens", adaptersProducer(t, nobody, adaptersHub).Send(ctx, "0", e), failure.Transient)
}

func TestAdaptersProducerSurvivesAFailover(t *testing.T) {
	connection, failover := adaptersMessaging(t, broker.Config{Hubs: []broker.HubConfig{{Name: adaptersHub, Partitions: 1}}})
	p := adaptersProducer(t, connection, adaptersHub)
	for i := range 3 {
		if err := p.Send(t.Context(), "0", []ingest.Event{{TransactionID: "t-1", Body: []byte("{}")}}); err != nil {
			t.Fatalf("after %d failovers: %v", i, err)
		}
		failover()
	}
}

// slowly is a producer whose acknowledgements come late.
type slowly struct {
	ingest.Producer
	by time.Duration
}

func (p slowly) Send(ctx context.Context, partition string, events []ingest.Event) error {
	err := p.Producer.Send(ctx, partition, events)
	time.Sleep(p.by)
	return err
}

// The writer on the producer, in eight instances that each get 400 events a second,
// while the hub acknowledges after 10 ms: batches carry eight events and more, and
// every acknowledged event is in the hub once. A busy machine makes batches larger.
func TestAdaptersWriter(t *testing.T) {
	t.Parallel()
	const instances, each, every = 8, 400, time.Second / 400
	connection := adaptersHubs(t)
	var events, flushes atomic.Int64
	var wg sync.WaitGroup
	for n := range instances {
		producer := slowly{adaptersProducer(t, connection, adaptersHub), 10 * time.Millisecond}
		w := ingest.NewWriter(producer, ingest.Limits{Linger: 25 * time.Millisecond}, func(f ingest.Flush) {
			events.Add(int64(f.Events))
			flushes.Add(1)
		})
		if err := w.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			var callers sync.WaitGroup
			start := time.Now()
			for i := range each {
				time.Sleep(time.Until(start.Add(time.Duration(i) * every))) // those that are late come at once
				callers.Go(func() {
					body := fmt.Appendf(nil, "%d %d", n, i)
					if err := w.Append(t.Context(), ingest.Event{TransactionID: string(body), Body: body}); err != nil {
						t.Errorf("append %s: %v", body, err)
					}
				})
			}
			callers.Wait()
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if size := float64(events.Load()) / float64(flushes.Load()); size < 8 {
		t.Errorf("a batch has %.1f events, want 8", size)
	} else {
		t.Logf("a batch has %.1f events", size)
	}
	found := map[string]int{}
	for _, id := range []string{"0", "1", "2", "3"} {
		for _, e := range adaptersEvents(t, connection, id, adaptersCount(t, connection, id)) {
			found[string(e.Body)]++
		}
	}
	for body, n := range found {
		if n != 1 {
			t.Errorf("event %s is in the hub %d times", body, n)
		}
	}
	if len(found) != instances*each {
		t.Errorf("%d events in the hub, want %d", len(found), instances*each)
	}
}

// adaptersCount returns how many events a partition has.
func adaptersCount(t *testing.T, connection, partition string) int {
	t.Helper()
	client, err := azeventhubs.NewProducerClientFromConnectionString(connection, adaptersHub, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			t.Errorf("close client: %v", err)
		}
	}()
	p, err := client.GetPartitionProperties(t.Context(), partition, nil)
	if err != nil {
		t.Fatal(err)
	}
	return int(p.LastEnqueuedSequenceNumber) + 1
}

// A hub with the status SendDisabled takes nothing, on links that are open and on new ones, and
// the adapter tells that it refuses. Of the writer's batches the first on an open link is in
// doubt, and what comes after that surely not taken. What was taken before is there.
func TestAdaptersProducerOfARefusingHub(t *testing.T) {
	connection, _, b := adaptersBroker(t, broker.Config{Hubs: []broker.HubConfig{{Name: adaptersHub, Partitions: 1}}})
	p, event := adaptersProducer(t, connection, adaptersHub), ingest.Event{TransactionID: "t-1", Body: []byte("{}")}
	w := ingest.NewWriter(p, ingest.Limits{}, nil)
	defer func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	refuse := func(refuse bool) {
		t.Helper()
		if err := b.DisableSends(adaptersHub, refuse); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.Append(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		refuse(true)
		for i, doubt := range []bool{true, false, false} {
			if err := w.Append(t.Context(), event); !errors.Is(err, ingest.ErrRefusing) || errors.Is(err, ingest.ErrUnacknowledged) != doubt {
				t.Errorf("try %d: %v", i, err)
			}
		}
		refuse(false)
	}
	if err := w.Append(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	refuse(true)
	adaptersEvents(t, connection, "0", 3)
	if err := b.DisableSends("nothing", true); err == nil {
		t.Error("a hub that isn't there was set to refuse")
	}
}
