package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/ingest"
)

// TestEventHubsUnderFaults has producers and readers go on under all faults of
// Event Hubs. Events that were acknowledged are there, in the order in which
// they were sent; readers get every event of their partition once, in order.
func TestEventHubsUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			const partitions, batches, each = 4, 40, 12
			m := startFaultyMessaging(t, messagingConfig())
			faults := fault.Plan{Seed: seed, SlowSeconds: 0.005, Rates: map[fault.Point]float64{
				fault.AMQPRefuse: 0.2, fault.AMQPDrop: 0.01, fault.AMQPSlow: 0.05,
				fault.EventHubsDetach: 0.01, fault.EventHubsBusy: 0.1, fault.EventHubsSendLost: 0.1,
			}}
			plan(t, m.in, faults)
			ctx := runContext(t)
			p := m.producer(t) // shared by all partitions, as in the app
			var sending, reading sync.WaitGroup
			for i := range partitions {
				id := fmt.Sprint(i)
				r := openPartition(t, m.emulated, "relay", id, &azeventhubs.PartitionClientOptions{StartPosition: earliest()})
				reading.Go(func() { readPartition(ctx, t, r, id, batches*each) })
				sending.Go(func() {
					for n := range batches {
						var events []ingest.Event
						for k := range each {
							events = append(events, event(fmt.Sprintf("%s/%d", id, n*each+k)))
						}
						insist(ctx, t, func(ctx context.Context) error { return p.Send(ctx, id, events) })
					}
				})
			}
			sending.Wait()
			reading.Wait()
			wantEveryHit(t, m.in, faults)
		})
	}
}

// readPartition reads until it has met the last of n events. An event may be
// repeated, with all that came after it in its batch, but none is passed over.
func readPartition(ctx context.Context, t *testing.T, r *azeventhubs.PartitionClient, id string, n int) {
	next, last, total := int64(0), -1, 0
	for last < n-1 {
		events, err := r.ReceiveEvents(ctx, 1, nil)
		if ctx.Err() != nil {
			t.Errorf("partition %s: read %d events, the last is %d: %v", id, total, last, err)
			return
		}
		for _, e := range events { // none with an error: then the next call goes on
			if e.SequenceNumber != next {
				t.Errorf("partition %s: event %d where %d belongs", id, e.SequenceNumber, next)
			}
			next, total = e.SequenceNumber+1, total+1
			var of string
			var number int
			if _, err := fmt.Sscanf(string(e.Body), "%1s/%d", &of, &number); err != nil || of != id || number > last+1 {
				t.Errorf("partition %s: event %q after %d", id, e.Body, last)
				return
			}
			last = max(last, number)
		}
	}
	t.Logf("partition %s: %d events for %d that were sent", id, total, n)
}
