package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// checkpoints is a CheckpointStore in memory. ETags work as the interface asks.
type checkpoints struct {
	mu         sync.Mutex
	etag       int
	ownerships map[string]azeventhubs.Ownership
	places     map[string]azeventhubs.Checkpoint
}

func newCheckpoints() *checkpoints {
	return &checkpoints{ownerships: map[string]azeventhubs.Ownership{}, places: map[string]azeventhubs.Checkpoint{}}
}

func (c *checkpoints) ClaimOwnership(_ context.Context, wanted []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var claimed []azeventhubs.Ownership
	for _, o := range wanted {
		current, owned := c.ownerships[o.PartitionID]
		if owned && (o.ETag == nil || *o.ETag != *current.ETag) {
			continue
		}
		c.etag++
		o.ETag = ptr(azcore.ETag(fmt.Sprint(c.etag)))
		o.LastModifiedTime = time.Now()
		c.ownerships[o.PartitionID] = o
		claimed = append(claimed, o)
	}
	return claimed, nil
}

func (c *checkpoints) ListOwnership(context.Context, string, string, string, *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []azeventhubs.Ownership
	for _, o := range c.ownerships {
		all = append(all, o)
	}
	return all, nil
}

func (c *checkpoints) ListCheckpoints(context.Context, string, string, string, *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []azeventhubs.Checkpoint
	for _, p := range c.places {
		all = append(all, p)
	}
	return all, nil
}

func (c *checkpoints) SetCheckpoint(_ context.Context, p azeventhubs.Checkpoint, _ *azeventhubs.SetCheckpointOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[p.PartitionID] = p
	return nil
}

// TestEventHubsProcessor reads all partitions by a Processor, stops it, and
// lets another one go on from its checkpoints.
func TestEventHubsProcessor(t *testing.T) {
	t.Parallel()
	m := startMessaging(t, messagingConfig())
	store := newCheckpoints()
	for round := range 2 {
		var want []string
		for id := range 4 {
			body := fmt.Sprintf("%d in %d", round, id)
			want = append(want, body)
			sendEvents(t, m, &azeventhubs.EventDataBatchOptions{PartitionID: ptr(fmt.Sprint(id))}, body)
		}
		got := process(t, m, store, len(want))
		for _, body := range want {
			if got[body] != 1 {
				t.Errorf("round %d: %q was processed %d times in %v", round, body, got[body], got)
			}
		}
	}
}

// process runs a Processor until it has seen n events.
func process(t *testing.T, m *emulated, store azeventhubs.CheckpointStore, n int) map[string]int {
	t.Helper()
	p, err := azeventhubs.NewProcessor(newConsumer(t, m, "relay"), store, &azeventhubs.ProcessorOptions{
		LoadBalancingStrategy: azeventhubs.ProcessorStrategyGreedy, UpdateInterval: 50 * time.Millisecond,
		PartitionExpirationDuration: 2 * time.Second,
		StartPositions:              azeventhubs.StartPositions{Default: earliest()},
	})
	must(t, "new processor", err)
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	events := make(chan string, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	wg.Go(func() {
		for partition := p.NextPartitionClient(ctx); partition != nil; partition = p.NextPartitionClient(ctx) {
			wg.Go(func() { processPartition(ctx, t, partition, events) })
		}
	})
	seen := map[string]int{}
	for range n {
		select {
		case body := <-events:
			seen[body]++
		case <-ctx.Done():
			t.Errorf("only %v came", seen)
			return seen
		}
	}
	stop()
	wg.Wait()
	return seen
}

func processPartition(ctx context.Context, t *testing.T, p *azeventhubs.ProcessorPartitionClient, events chan<- string) {
	defer func() {
		if err := p.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("close partition %s: %v", p.PartitionID(), err)
		}
	}()
	for {
		got, err := p.ReceiveEvents(ctx, 1, nil)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("partition %s: %v", p.PartitionID(), err)
			}
			return
		}
		for _, e := range got {
			if err := p.UpdateCheckpoint(context.WithoutCancel(ctx), e, nil); err != nil {
				t.Errorf("checkpoint: %v", err)
			}
			events <- string(e.Body)
		}
	}
}
