package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// gather is how long a receive waits for more events once it has one.
const gather = time.Millisecond

// A partition serves one owned partition: receive, invoke, checkpoint, one
// batch after the other.
type partition struct {
	*eventHub
	client  *azeventhubs.ProcessorPartitionClient
	owned   *ownerships
	batches int // since the last checkpoint
}

func (l *eventHub) newPartition(c *azeventhubs.ProcessorPartitionClient, owned *ownerships) *partition {
	return &partition{eventHub: l, client: c, owned: owned}
}

// run serves until ctx ends or the partition is lost. Closing the client lets
// the processor open the partition again if it is still ours.
func (p *partition) run(ctx context.Context) {
	defer p.host.closing("partition client", p.client.Close)
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	defer p.owned.watch(p.client.PartitionID(), lost)()
	log := p.host.cfg.Logger.With("function", p.fn.Name, "entity", p.fn.Trigger.Entity(), "partition", p.client.PartitionID())
	for ctx.Err() == nil {
		events, err := p.receive(ctx)
		var sdk *azeventhubs.Error
		switch {
		case ctx.Err() != nil:
		case errors.As(err, &sdk) && sdk.Code == azeventhubs.ErrorCodeOwnershipLost:
			log.Info("another instance took the partition")
			return
		case err != nil:
			log.Error("receive from the partition", "error", err)
			return
		default:
			p.serve(ctx, events)
		}
	}
	if errors.Is(context.Cause(ctx), errOwnershipLost) {
		log.Info("another instance owns the partition")
	}
}

// receive waits for the first event and takes what else is there, up to
// maxEventBatchSize. With minEventBatchSize above 1 it waits up to maxWaitTime
// for that many.
func (p *partition) receive(ctx context.Context) ([]*azeventhubs.ReceivedEventData, error) {
	c := p.host.app.Host.EventHubs
	events, err := p.client.ReceiveEvents(ctx, 1, nil)
	if err != nil || !p.fn.Trigger.Many {
		return events, err
	}
	begin := p.host.cfg.Now()
	take := func(upTo int, wait time.Duration) error {
		if len(events) >= upTo || wait <= 0 {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		more, err := p.client.ReceiveEvents(limited, upTo-len(events), nil)
		events = append(events, more...)
		if limited.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if err := take(c.MaxBatch, gather); err != nil {
		return nil, err
	}
	for len(events) < c.MinBatch {
		left := c.MaxWait - p.host.cfg.Now().Sub(begin)
		if left <= 0 {
			break
		}
		if err := take(c.MinBatch, left); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// serve invokes the function for a batch, with its retry policy, and then
// checkpoints whatever came of it: Event Hubs knows no poison events.
func (p *partition) serve(ctx context.Context, events []*azeventhubs.ReceivedEventData) {
	p.batches++
	due := p.batches >= p.host.app.Host.EventHubs.CheckpointFrequency
	inv, err := p.invocation(events, payload.PartitionContext{
		IsCheckpointingAfterInvocation: due,
		FullyQualifiedNamespace:        p.fn.Trigger.Connection.FullyQualifiedNamespace,
		EventHubName:                   p.fn.Trigger.EventHubName,
		ConsumerGroup:                  p.fn.Trigger.ConsumerGroup,
		PartitionID:                    p.client.PartitionID(),
	})
	if err != nil {
		err = fmt.Errorf("encode the events: %w", err)
	} else {
		err = p.host.invokeWithRetry(ctx, p.fn, inv)
	}
	if p.comesAgain(ctx, err) {
		return
	}
	last := events[len(events)-1]
	if err != nil {
		p.host.cfg.Logger.Error(fmt.Sprintf("Functions.%s failed for good: the events are checkpointed and lost to it", p.fn.Name),
			"partition", p.client.PartitionID(), "events", len(events), "lastSequenceNumber", last.SequenceNumber, "error", err)
	}
	if due {
		p.checkpoint(ctx, last)
	}
}

// comesAgain reports whether a batch stays without a checkpoint, so that its
// events come again: the host is stopping, or the partition went to another
// owner. This is where the real host may go wrong: stopped while a retry policy
// waits for its next attempt, it can take the last failure for the end,
// checkpoint, and lose the batch. Here it does so on demand: see AwaitRetry.
func (p *partition) comesAgain(ctx context.Context, failure error) bool {
	if ctx.Err() == nil {
		return false
	}
	lost := errors.Is(context.Cause(ctx), errOwnershipLost)
	return lost || failure == nil || !p.host.repeats.forgotten()
}

// checkpoint saves that everything up to an event is done.
func (p *partition) checkpoint(ctx context.Context, last *azeventhubs.ReceivedEventData) {
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := p.client.UpdateCheckpoint(saving, last, nil); err != nil {
		p.host.cfg.Logger.Error(fmt.Sprintf("Functions.%s: the checkpoint failed; its events come again after a restart", p.fn.Name),
			"partition", p.client.PartitionID(), "sequenceNumber", last.SequenceNumber, "error", err)
		return
	}
	p.batches = 0
}
