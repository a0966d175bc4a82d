package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

func adaptersReader(t *testing.T, connection, group string) *messaging.Reader {
	t.Helper()
	r, err := messaging.OpenReader(messaging.Connection{ConnectionString: connection}, adaptersHub, group, adaptersHubOptions())
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

func TestAdaptersReaderFindsATime(t *testing.T) {
	connection := adaptersHubs(t)
	p := adaptersProducer(t, connection, adaptersHub)
	r := adaptersReader(t, connection, "$Default")
	since := func(at time.Time) int64 {
		t.Helper()
		n, err := r.Since(t.Context(), "1", at)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := since(time.Now().Add(-time.Hour)); n != 0 {
		t.Errorf("an empty partition begins at %d", n)
	}
	for range 3 {
		if err := p.Send(t.Context(), "1", []ingest.Event{{TransactionID: "t-1", Body: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := r.Between(t.Context(), "1", -1, 3)
	if err != nil || len(events) != 3 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for _, c := range []struct {
		at   time.Time
		want int64
	}{{events[0].EnqueuedAt.Add(-time.Hour), 0}, {events[2].EnqueuedAt.Add(time.Millisecond), 3}, {time.Now().Add(time.Hour), 3}} {
		if n := since(c.at); n != c.want {
			t.Errorf("since %v: %d, want %d", c.at, n, c.want)
		}
	}
	for _, e := range events { // two may have come within a millisecond
		if n := since(e.EnqueuedAt); n > e.SequenceNumber || !events[n].EnqueuedAt.Truncate(time.Millisecond).Equal(e.EnqueuedAt.Truncate(time.Millisecond)) {
			t.Errorf("since %v: %d, want %d", e.EnqueuedAt, n, e.SequenceNumber)
		}
	}
}

func TestAdaptersReaderReadsBetween(t *testing.T) {
	connection := adaptersHubs(t)
	p := adaptersProducer(t, connection, adaptersHub)
	r := adaptersReader(t, connection, "$Default")
	if events, err := r.Between(t.Context(), "1", -1, 5); err != nil || len(events) != 0 {
		t.Errorf("an empty partition: %v, %v", events, err)
	}
	const total = messaging.MaxRead + 50
	var sent []ingest.Event
	for i := range total {
		sent = append(sent, ingest.Event{TransactionID: "t-1", Body: []byte(fmt.Sprint(i)), TraceParent: "trace"})
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
		{-1, total, 0, messaging.MaxRead},
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
				e.Properties["traceparent"] != "trace" {
				t.Errorf("between %d and %d: event %d is %+v", c.after, c.before, i, e)
			}
		}
	}
}

func TestAdaptersReaderTellsWhatIsThere(t *testing.T) {
	connection := adaptersHubs(t)
	r := adaptersReader(t, connection, "$Default")
	begun := time.Now().Add(-time.Minute)
	hub, err := r.Hub(t.Context())
	if slices.Sort(hub.Partitions); err != nil || !slices.Equal(hub.Partitions, []string{"0", "1", "2", "3"}) {
		t.Errorf("partitions %v, %v", hub.Partitions, err)
	}
	if hub.CreatedAt.Before(begun) || hub.CreatedAt.After(time.Now()) {
		t.Errorf("created at %v", hub.CreatedAt)
	}
	if extent, err := r.Extent(t.Context(), "2"); err != nil || extent != (relay.Extent{First: 0, Last: -1}) {
		t.Errorf("an empty partition has %+v, %v", extent, err)
	}
	events := []ingest.Event{{TransactionID: "t-1", Body: []byte("{}")}, {TransactionID: "t-2", Body: []byte("{}")}}
	if err := adaptersProducer(t, connection, adaptersHub).Send(t.Context(), "2", events); err != nil {
		t.Fatal(err)
	}
	if extent, err := r.Extent(t.Context(), "2"); err != nil || extent != (relay.Extent{First: 0, Last: 1}) {
		t.Errorf("after two events it has %+v, %v", extent, err)
	}
	if _, err := r.Extent(t.Context(), "7"); err == nil {
		t.Error("there is no partition 7")
	}
}

func TestAdaptersReaderAfterTheRetention(t *testing.T) {
	connection, _ := adaptersMessaging(t, broker.Config{
		Hubs: []broker.HubConfig{{Name: adaptersHub, Partitions: 1, Retention: time.Millisecond}},
	})
	r := adaptersReader(t, connection, "$Default")
	p := adaptersProducer(t, connection, adaptersHub)
	for range 2 {
		if err := p.Send(t.Context(), "0", []ingest.Event{{TransactionID: "t-1", Body: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		extent, err := r.Extent(ctx, "0")
		if err != nil {
			t.Fatalf("the partition still has %+v: %v", extent, err)
		}
		if extent == (relay.Extent{First: 2, Last: 1}) { // it knows how far it has come
			return
		}
	}
}

// Ensure that a hub which takes the request and does not answer does not hold
// its reader for longer than it wants to wait.
func TestAdaptersReaderOfAHubThatHangs(t *testing.T) {
	connection := adaptersHubs(t)
	through, hang := adaptersHanging(t, connection)
	o := adaptersHubOptions()
	o.Timeout = 500 * time.Millisecond
	r, err := messaging.OpenReader(messaging.Connection{ConnectionString: through}, adaptersHub, "$Default", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Extent(t.Context(), "0"); err != nil {
		t.Fatal(err)
	}
	cut := hang()
	_, err = r.Extent(t.Context(), "0")
	adaptersKind(t, "the extent", err, failure.Transient)
	_, err = r.Between(t.Context(), "0", -1, 1)
	adaptersKind(t, "events", err, failure.Transient)
	_, err = r.Hub(t.Context())
	adaptersKind(t, "the hub", err, failure.Transient)
	cut()
	if err := r.Close(context.Background()); err != nil {
		t.Errorf("close reader: %v", err)
	}
}

// adaptersHanging returns a connection string that leads to the same place, as
// long as it is not made to hang: then nothing comes back any more, until it is
// cut.
func adaptersHanging(t *testing.T, connection string) (through string, hang func() (cut func())) {
	t.Helper()
	endpoint, rest, _ := strings.Cut(connection, ";")
	target := strings.TrimSuffix(strings.TrimPrefix(endpoint, "Endpoint=sb://"), "/")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	var wg sync.WaitGroup
	cutting, cut := context.WithCancel(context.Background())
	pass := func(to, from net.Conn, back bool) {
		defer to.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if back && hangs.Load() {
				continue
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	wg.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				t.Error(err)
				near.Close()
				continue
			}
			context.AfterFunc(cutting, func() {
				near.Close()
				far.Close()
			})
			wg.Go(func() { pass(far, near, false) })
			wg.Go(func() { pass(near, far, true) })
		}
	})
	t.Cleanup(func() {
		cut()
		if err := listener.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		wg.Wait()
	})
	return "Endpoint=sb://" + listener.Addr().String() + ";" + rest, func() func() {
		hangs.Store(true)
		return cut
	}
}

// Relay on all of its adapters: a batch that the trigger has skipped arrives
// with the next one, or when the partition has been quiet for a while, and an
// unreadable event is in quarantine.
func TestAdaptersRelay(t *testing.T) {
	connection, _ := adaptersMessaging(t, broker.Config{
		Hubs:   []broker.HubConfig{{Name: adaptersHub, Partitions: 1, ConsumerGroups: []string{"relay"}}},
		Queues: []broker.QueueConfig{{Name: "deliveries", DuplicateWindow: 10 * time.Minute}},
	})
	db := adaptersOpen(t)
	checkpoints := cosmosdb.NewCheckpoints(db)
	kept := cosmosdb.NewQuarantine(db)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	reader := adaptersReader(t, connection, "$Default")
	var ahead time.Duration // how far the service's clock is
	now := func() time.Time { return time.Now().Add(ahead) }
	service := relay.New(relay.Config{
		Queue: "deliveries", Sender: adaptersSender(t, connection),
		Quarantine:  quarantine.New(quarantine.Config{Store: kept, Now: now, Logger: logger}),
		Checkpoints: checkpoints, Reader: reader, Hub: adaptersHub, ConsumerGroup: "relay", Quiet: time.Minute, Now: now,
		Logger: logger,
	})

	var sent []ingest.Event
	for i := range 8 { // the last two are skipped, and nothing follows them
		body, err := engine.Envelope{
			TransactionID: fmt.Sprint("t-", i), OperationID: fmt.Sprint("o-", i), Operation: "start",
			AcceptedAt: time.Now(), Body: json.RawMessage("{}"),
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			body = []byte("unreadable")
		}
		sent = append(sent, ingest.Event{TransactionID: fmt.Sprint("t-", i), Body: body})
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

	for _, c := range []struct {
		ahead time.Duration
		want  int
	}{{0, 0}, {time.Hour, 2}, {2 * time.Hour, 0}} {
		ahead = c.ahead
		if events, err := service.CatchUp(t.Context()); err != nil || events != c.want {
			t.Errorf("%v later: %d events, %v; want %d", c.ahead, events, err, c.want)
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
	if diff := cmp.Diff([]string{"o-0", "o-1", "o-3", "o-4", "o-5", "o-6", "o-7"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	unreadable := quarantine.Entry{Source: "requests.0", SequenceNumber: 2, Body: "unreadable"}
	entry, _, err := kept.Read(t.Context(), unreadable.Source, quarantine.EntryID(unreadable))
	if err != nil || entry.Body != "unreadable" || entry.Reason != quarantine.ReasonUnreadable {
		t.Errorf("quarantine: %+v, %v", entry, err)
	}
	c, _, err := checkpoints.Read(t.Context(), adaptersHub+".relay.0")
	if err != nil || c.SequenceNumber != 7 || c.SavedAt.Before(time.Now().Add(50*time.Minute)) {
		t.Errorf("checkpoint %+v, %v", c, err)
	}
}
