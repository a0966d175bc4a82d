package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/ingest"
)

func event(body string) ingest.Event {
	return ingest.Event{TransactionID: "t", Body: []byte(body)}
}

// TestEventHubsFaultsOfSends: what the app's producer makes of each fault while
// it lasts, what the partition has then, and that all is well after it.
func TestEventHubsFaultsOfSends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point  fault.Point
		after  time.Duration // that the failure asks to wait
		tries  uint64        // of the client
		stored []string
	}{
		{point: fault.AMQPRefuse, tries: faultRetries + 1},
		{point: fault.AMQPDrop, tries: faultRetries + 1},
		{point: fault.EventHubsBusy, after: 4 * time.Second, tries: faultRetries + 1},
		{point: fault.EventHubsDetach, tries: faultRetries + 2}, // one more at once
		{point: fault.EventHubsSendLost, tries: faultRetries + 1, stored: []string{"a", "a", "a"}},
	} {
		t.Run(string(c.point), func(t *testing.T) {
			t.Parallel()
			m := startFaultyMessaging(t, messagingConfig())
			p := m.producer(t)
			plan(t, m.in, always(c.point))
			wantTransient(t, "send", p.Send(testContext(t), "1", []ingest.Event{event("a")}), c.after)
			if got := m.in.Counts()[c.point]; got.Hit != c.tries {
				t.Errorf("the client tried %+v, want %d", got, c.tries)
			}
			if got := m.Stats().Hubs[0].Partitions[1].Last + 1; got != int64(len(c.stored)) {
				t.Errorf("%d events are stored, want %d", got, len(c.stored))
			}
			plan(t, m.in, fault.Plan{})
			must(t, "send", p.Send(testContext(t), "1", []ingest.Event{event("b")}))
			want := append(c.stored, "b")
			r := openPartition(t, m.emulated, "$Default", "1", &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
			if diff := cmp.Diff(want, bodies(receiveEvents(t, r, len(want)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEventHubsDetachesReaders: readers, with and without prefetching, get every
// event once and in order, however often their link ends.
func TestEventHubsDetachesReaders(t *testing.T) {
	t.Parallel()
	const n = 60
	for _, prefetch := range []int32{0, -1} {
		m := startFaultyMessaging(t, messagingConfig())
		var sent []ingest.Event
		var want []string
		for i := range n {
			sent = append(sent, event(fmt.Sprint(i)))
			want = append(want, fmt.Sprint(i))
		}
		must(t, "send", m.producer(t).Send(testContext(t), "0", sent))
		plan(t, m.in, fault.Plan{Seed: 1, Rates: map[fault.Point]float64{fault.EventHubsDetach: 0.04}})
		r := openPartition(t, m.emulated, "relay", "0", &azeventhubs.PartitionClientOptions{StartPosition: earliest(), Prefetch: prefetch})
		var got []string
		for ctx := runContext(t); len(got) < n; {
			events, err := r.ReceiveEvents(ctx, 1, nil)
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			if err != nil { // it has tried as often as it does
				continue
			}
			got = append(got, bodies(events)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("prefetch %d: %s", prefetch, diff)
		}
		wantHit(t, m.in, fault.EventHubsDetach)
	}
}
