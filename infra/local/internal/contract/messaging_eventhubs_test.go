package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
)

func ptr[T any](v T) *T { return &v }

func earliest() azeventhubs.StartPosition { return azeventhubs.StartPosition{Earliest: ptr(true)} }

func newProducer(t *testing.T, m *emulated) *azeventhubs.ProducerClient {
	t.Helper()
	p, err := azeventhubs.NewProducerClientFromConnectionString(m.connection, hubName,
		&azeventhubs.ProducerClientOptions{RetryOptions: eventHubsRetry()})
	must(t, "new producer", err)
	return p
}

func newConsumer(t *testing.T, m *emulated, group string) *azeventhubs.ConsumerClient {
	t.Helper()
	c, err := azeventhubs.NewConsumerClientFromConnectionString(m.connection, hubName, group,
		&azeventhubs.ConsumerClientOptions{RetryOptions: eventHubsRetry(), InstanceID: "reader of " + t.Name()})
	must(t, "new consumer", err)
	closes(t, "consumer", c.Close)
	return c
}

func openPartition(t *testing.T, m *emulated, group, id string, o *azeventhubs.PartitionClientOptions) *azeventhubs.PartitionClient {
	t.Helper()
	p, err := newConsumer(t, m, group).NewPartitionClient(id, o)
	must(t, "new partition client", err)
	closes(t, "partition client", p.Close)
	return p
}

// sendEvents sends the bodies as one batch, by a producer of its own.
func sendEvents(t *testing.T, m *emulated, o *azeventhubs.EventDataBatchOptions, bodies ...string) {
	t.Helper()
	p := newProducer(t, m)
	batch, err := p.NewEventDataBatch(testContext(t), o)
	must(t, "new batch", err)
	for _, body := range bodies {
		must(t, "add", batch.AddEventData(&azeventhubs.EventData{Body: []byte(body)}, nil))
	}
	must(t, "send", p.SendEventDataBatch(testContext(t), batch, nil))
	must(t, "close the producer", p.Close(testContext(t)))
}

func receiveEvents(t *testing.T, p *azeventhubs.PartitionClient, n int) []*azeventhubs.ReceivedEventData {
	t.Helper()
	events, err := p.ReceiveEvents(testContext(t), n, nil)
	must(t, "receive events", err)
	return events
}

func bodies(events []*azeventhubs.ReceivedEventData) []string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Body))
	}
	return out
}

func TestEventHubsKeepsTheEvent(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	p := newProducer(t, m)
	closes(t, "producer", p.Close)
	batch, err := p.NewEventDataBatch(testContext(t), &azeventhubs.EventDataBatchOptions{PartitionID: ptr("2")})
	must(t, "new batch", err)
	must(t, "add", batch.AddEventData(&azeventhubs.EventData{
		Body: []byte("{}"), ContentType: ptr("application/json"), CorrelationID: "c", MessageID: ptr("m"),
		Properties: map[string]any{"n": int64(1), "s": "text"},
	}, nil))
	must(t, "send", p.SendEventDataBatch(testContext(t), batch, nil))
	e := receiveEvents(t, openPartition(t, m, "$Default", "2", &azeventhubs.PartitionClientOptions{StartPosition: earliest()}), 1)[0]
	if string(e.Body) != "{}" || *e.ContentType != "application/json" || e.CorrelationID != "c" || *e.MessageID != "m" ||
		!cmp.Equal(e.Properties, map[string]any{"n": int64(1), "s": "text"}) {
		t.Errorf("event %+v", e)
	}
	if e.SequenceNumber != 0 || e.Offset == "" || e.EnqueuedTime == nil || e.PartitionKey != nil {
		t.Errorf("event %+v", e)
	}
}

func TestEventHubsPartitionKeyIsStable(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	for i := range 3 {
		for k := range 8 {
			sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionKey: ptr(fmt.Sprint("key", k))}, fmt.Sprint(i))
		}
	}
	where := map[string]string{}
	used := 0
	for id := range 4 {
		stats := m.Stats().Hubs[0].Partitions[id]
		if n := int(stats.Last - stats.First + 1); n > 0 {
			used++
			p := openPartition(t, m, "$Default", stats.ID, &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
			for _, e := range receiveEvents(t, p, n) {
				if at, ok := where[*e.PartitionKey]; ok && at != stats.ID {
					t.Errorf("%s is in partitions %s and %s", *e.PartitionKey, at, stats.ID)
				}
				where[*e.PartitionKey] = stats.ID
			}
		}
	}
	if len(where) != 8 || used < 2 {
		t.Errorf("%d keys in %d partitions", len(where), used)
	}
}

func TestEventHubsRoundRobin(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	for range 8 {
		sendEvents(t, m, nil, "a", "b")
	}
	for _, p := range m.Stats().Hubs[0].Partitions {
		if p.Last != 3 {
			t.Errorf("partition %s ends at %d", p.ID, p.Last)
		}
	}
}

func TestEventHubsStartPositions(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	to := &azeventhubs.EventDataBatchOptions{PartitionID: ptr("0")}
	sendEvents(t, m, to, "0", "1", "2")
	all := receiveEvents(t, openPartition(t, m, "$Default", "0", &azeventhubs.PartitionClientOptions{StartPosition: earliest()}), 3)
	for _, c := range []struct {
		name  string
		start azeventhubs.StartPosition
		want  string // the first body
	}{
		{"sequence number", azeventhubs.StartPosition{SequenceNumber: ptr(int64(1))}, "2"},
		{"inclusive sequence number", azeventhubs.StartPosition{SequenceNumber: ptr(int64(1)), Inclusive: true}, "1"},
		{"offset", azeventhubs.StartPosition{Offset: &all[0].Offset}, "1"},
		{"inclusive offset", azeventhubs.StartPosition{Offset: &all[2].Offset, Inclusive: true}, "2"},
		{"inclusive time", azeventhubs.StartPosition{EnqueuedTime: all[0].EnqueuedTime, Inclusive: true}, "0"},
		{"latest", azeventhubs.StartPosition{Latest: ptr(true)}, "3"},
		{"last sequence number", azeventhubs.StartPosition{SequenceNumber: ptr(int64(3))}, "3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openPartition(t, m, "$Default", "0", &azeventhubs.PartitionClientOptions{StartPosition: c.start})
			var got []*azeventhubs.ReceivedEventData
			if c.want == "3" {
				got = receiveAfter(t, m, p, to, "3")
			} else {
				got = receiveEvents(t, p, 1)
			}
			if string(got[0].Body) != c.want {
				t.Errorf("first event %q, want %q", got[0].Body, c.want)
			}
		})
	}
	beyond := openPartition(t, m, "$Default", "0", &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{SequenceNumber: ptr(int64(99))},
	})
	if _, err := beyond.ReceiveEvents(testContext(t), 1, nil); err == nil || !strings.Contains(err.Error(), "'99' is invalid") {
		t.Errorf("a position beyond the end: %v", err)
	}
}

// receiveAfter begins to receive, and sends body once the reader is there: the
// second one, beside the one that the test keeps.
func receiveAfter(t *testing.T, m *emulated, p *azeventhubs.PartitionClient, to *azeventhubs.EventDataBatchOptions, body string) []*azeventhubs.ReceivedEventData {
	t.Helper()
	readers := func(n int) {
		m.eventually(t, func(s broker.Stats) bool { return s.Hubs[0].Partitions[0].Readers == n })
	}
	readers(1) // those of the cases before have left
	var events []*azeventhubs.ReceivedEventData
	var err error
	received := make(chan struct{})
	ctx := testContext(t)
	go func() {
		defer close(received)
		events, err = p.ReceiveEvents(ctx, 1, nil)
	}()
	readers(2)
	sendEvents(t, m, to, body)
	<-received
	must(t, "receive events", err)
	return events
}

func TestEventHubsThousandsOfEvents(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	const batches, each = 10, 500
	n := 0
	for range batches {
		var events []string
		for range each {
			events = append(events, fmt.Sprint(n))
			n++
		}
		sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("3")}, events...)
	}
	p := openPartition(t, m, "$Default", "3", &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
	manual := openPartition(t, m, "relay", "3", &azeventhubs.PartitionClientOptions{StartPosition: earliest(), Prefetch: -1})
	for _, c := range []*azeventhubs.PartitionClient{p, manual} {
		var got []*azeventhubs.ReceivedEventData
		for len(got) < batches*each {
			got = append(got, receiveEvents(t, c, min(700, batches*each-len(got)))...)
		}
		for i, e := range got {
			if string(e.Body) != fmt.Sprint(i) || e.SequenceNumber != int64(i) {
				t.Fatalf("event %d is %s with number %d", i, e.Body, e.SequenceNumber)
			}
		}
	}
}

func TestEventHubsOwnerLevels(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("0")}, "a", "b")
	open := func(group string, level *int64) *azeventhubs.PartitionClient {
		return openPartition(t, m, group, "0", &azeventhubs.PartitionClientOptions{StartPosition: earliest(), OwnerLevel: level})
	}
	low := open("$Default", ptr(int64(1)))
	receiveEvents(t, low, 1)
	receiveEvents(t, open("relay", ptr(int64(9))), 1) // another group: no matter
	high := open("$default", ptr(int64(2)))
	receiveEvents(t, high, 1)
	wantLost := func(what string, p *azeventhubs.PartitionClient) {
		t.Helper()
		for {
			_, err := p.ReceiveEvents(testContext(t), 10, nil)
			var e *azeventhubs.Error
			if errors.As(err, &e) && e.Code == azeventhubs.ErrorCodeOwnershipLost {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				return
			}
		}
	}
	wantLost("the beaten reader", low)
	wantLost("a reader with a lower level", open("$Default", ptr(int64(1))))
	wantLost("a reader without a level", open("$Default", nil))
	if got := receiveEvents(t, high, 1); string(got[0].Body) != "b" {
		t.Errorf("the owner received %q", got[0].Body)
	}
}

func TestEventHubsProperties(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr("1")}, "a", "b")
	c := newConsumer(t, m, "$Default")
	hub, err := c.GetEventHubProperties(testContext(t), nil)
	must(t, "hub properties", err)
	if hub.Name != hubName || !slices.Equal(hub.PartitionIDs, []string{"0", "1", "2", "3"}) || hub.CreatedOn.IsZero() {
		t.Errorf("hub %+v", hub)
	}
	p := newProducer(t, m)
	closes(t, "producer", p.Close)
	again, err := p.GetEventHubProperties(testContext(t), nil)
	must(t, "hub properties", err)
	if diff := cmp.Diff(hub, again); diff != "" {
		t.Errorf("the producer sees another hub:\n%s", diff)
	}
	full, err := c.GetPartitionProperties(testContext(t), "1", nil)
	must(t, "partition properties", err)
	if full.BeginningSequenceNumber != 0 || full.LastEnqueuedSequenceNumber != 1 || full.IsEmpty ||
		full.LastEnqueuedOffset == "" || full.LastEnqueuedOn.Before(hub.CreatedOn) || full.PartitionID != "1" {
		t.Errorf("partition %+v", full)
	}
	empty, err := c.GetPartitionProperties(testContext(t), "2", nil)
	must(t, "partition properties", err)
	if !empty.IsEmpty || empty.LastEnqueuedSequenceNumber != -1 {
		t.Errorf("empty partition %+v", empty)
	}
}
