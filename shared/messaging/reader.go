package messaging

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/shared/relay"
)

// MaxRead is the largest number of events that Between returns.
const MaxRead = 200

// Reader reads a hub beside the trigger. It is safe for concurrent use. Close
// must be called.
type Reader struct {
	client  *azeventhubs.ConsumerClient
	hub     string
	timeout time.Duration
}

var _ relay.Reader = (*Reader)(nil)

// OpenReader returns a Reader of a hub. It connects with its first operation. The
// consumer group must not be the trigger's, whose receivers would refuse any
// other; $Default is always there.
func OpenReader(c Connection, hub, consumerGroup string, o Options) (*Reader, error) {
	o, err := o.complete(c)
	if err != nil {
		return nil, fmt.Errorf("open Event Hubs: %w", err)
	}
	options := &azeventhubs.ConsumerClientOptions{ApplicationID: o.Application, RetryOptions: o.hubRetry()}
	var client *azeventhubs.ConsumerClient
	if c.ConnectionString != "" {
		client, err = azeventhubs.NewConsumerClientFromConnectionString(c.ConnectionString, hub, consumerGroup, options)
	} else {
		client, err = azeventhubs.NewConsumerClient(c.Namespace, hub, consumerGroup, c.Credential, options)
	}
	if err != nil {
		return nil, fmt.Errorf("open Event Hubs: %w", err)
	}
	return &Reader{client: client, hub: hub, timeout: o.Timeout}, nil
}

// Hub returns what the hub is at the moment.
func (r *Reader) Hub(ctx context.Context) (relay.Hub, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	properties, err := within(ctx, func() (azeventhubs.EventHubProperties, error) {
		return r.client.GetEventHubProperties(ctx, nil)
	})
	if err != nil {
		return relay.Hub{}, eventHubs.Fail(ctx, "read properties of hub", r.hub, err)
	}
	return relay.Hub{CreatedAt: properties.CreatedOn.UTC(), Partitions: properties.PartitionIDs}, nil
}

// Extent returns what there is of a partition at the moment.
func (r *Reader) Extent(ctx context.Context, partition string) (relay.Extent, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.extent(ctx, partition)
}

func (r *Reader) properties(ctx context.Context, partition string) (azeventhubs.PartitionProperties, error) {
	properties, err := within(ctx, func() (azeventhubs.PartitionProperties, error) {
		return r.client.GetPartitionProperties(ctx, partition, nil)
	})
	if err != nil {
		return properties, eventHubs.Fail(ctx, "read properties of partition", r.hub+"/"+partition, err)
	}
	return properties, nil
}

func (r *Reader) extent(ctx context.Context, partition string) (relay.Extent, error) {
	properties, err := r.properties(ctx, partition)
	if err != nil {
		return relay.Extent{}, err
	}
	first, last := properties.BeginningSequenceNumber, properties.LastEnqueuedSequenceNumber
	if properties.IsEmpty {
		first = last + 1
	}
	return relay.Extent{First: first, Last: last}, nil
}

// within returns what read does, and gives up when ctx ends. The SDK (2.0.2)
// waits for an answer to a request without the context of its caller: one that
// does not come would hold the invocation for ever. What is given up ends with
// its connection.
func within[T any](ctx context.Context, read func() (T, error)) (T, error) {
	var out T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err = read()
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	case <-done:
		return out, err
	}
}

// Between returns the oldest events of a partition with sequence numbers
// between after and before, both excluded: at most MaxRead, and none when the
// hub has none.
func (r *Reader) Between(ctx context.Context, partition string, after, before int64) ([]relay.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	extent, err := r.extent(ctx, partition)
	if err != nil {
		return nil, err
	}
	// Only as many events are asked for as are there: the SDK waits for more.
	first := max(after+1, extent.First)
	end := min(before, extent.Last+1, first+MaxRead)
	if first >= end {
		return nil, nil
	}
	received, err := r.receive(ctx, partition, azeventhubs.StartPosition{SequenceNumber: &first, Inclusive: true}, int(end-first))
	if err != nil {
		return nil, err
	}
	var events []relay.Event
	for _, e := range received {
		if e.SequenceNumber < before {
			events = append(events, eventOf(e))
		}
	}
	return events, nil
}

// Since returns the sequence number of the oldest event that the hub took at that
// time or later, to the millisecond; without one, that of the next event.
func (r *Reader) Since(ctx context.Context, partition string, at time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	at = at.UTC().Truncate(time.Millisecond)
	properties, err := r.properties(ctx, partition)
	if err != nil {
		return 0, err
	}
	if properties.IsEmpty || at.After(properties.LastEnqueuedOn) { // the SDK would wait for one
		return properties.LastEnqueuedSequenceNumber + 1, nil
	}
	received, err := r.receive(ctx, partition, azeventhubs.StartPosition{EnqueuedTime: &at, Inclusive: true}, 1)
	if err != nil {
		return 0, err
	}
	return received[0].SequenceNumber, nil
}

// receive reads so many events, which are there.
func (r *Reader) receive(ctx context.Context, partition string, from azeventhubs.StartPosition, n int) ([]*azeventhubs.ReceivedEventData, error) {
	id := r.hub + "/" + partition
	client, err := r.client.NewPartitionClient(partition, &azeventhubs.PartitionClientOptions{StartPosition: from})
	if err != nil {
		return nil, eventHubs.Fail(ctx, "open partition", id, err)
	}
	received, err := client.ReceiveEvents(ctx, n, nil)
	// The link is of no more use; that it can't be closed changes nothing.
	_ = client.Close(ctx)
	if err != nil {
		return nil, eventHubs.Fail(ctx, "read partition", id, err)
	}
	return received, nil
}

func eventOf(e *azeventhubs.ReceivedEventData) relay.Event {
	out := relay.Event{SequenceNumber: e.SequenceNumber, Body: e.Body, Properties: e.Properties}
	if e.EnqueuedTime != nil {
		out.EnqueuedAt = *e.EnqueuedTime
	}
	return out
}

// Close closes the connection. What is being read fails.
func (r *Reader) Close(ctx context.Context) error {
	if err := r.client.Close(ctx); err != nil {
		return fmt.Errorf("close Event Hubs: %w", err)
	}
	return nil
}
