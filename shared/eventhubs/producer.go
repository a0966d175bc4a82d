package eventhubs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/message"
)

// TraceParent is the application property that holds an event's W3C trace
// context.
const TraceParent = "traceparent"

// Producer puts events into the partitions of one hub, over one connection with
// a link per partition. It is safe for concurrent use. Close must be called.
type Producer struct {
	client  *azeventhubs.ProducerClient
	hub     string
	timeout time.Duration

	mu         sync.Mutex
	partitions []string // nil until they have been read
}

var _ ingest.Producer = (*Producer)(nil)

// Open returns a Producer. It connects with its first operation.
func Open(c Connection, o Options) (*Producer, error) {
	o, err := o.complete(c)
	if err != nil {
		return nil, err
	}
	options := &azeventhubs.ProducerClientOptions{ApplicationID: o.Application, RetryOptions: o.retry()}
	var client *azeventhubs.ProducerClient
	if c.ConnectionString != "" {
		client, err = azeventhubs.NewProducerClientFromConnectionString(c.ConnectionString, o.Hub, options)
	} else {
		client, err = azeventhubs.NewProducerClient(c.Namespace, o.Hub, c.Credential, options)
	}
	if err != nil {
		return nil, fmt.Errorf("open Event Hubs: %w", err)
	}
	return &Producer{client: client, hub: o.Hub, timeout: o.Timeout}, nil
}

// Partitions returns the ids of the hub's partitions. They are read from the
// hub once.
func (p *Producer) Partitions(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	known := p.partitions
	p.mu.Unlock()
	if known != nil {
		return slices.Clone(known), nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	properties, err := p.client.GetEventHubProperties(ctx, nil)
	if err != nil {
		return nil, judge.Fail(ctx, "read properties of hub", p.hub, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions = properties.PartitionIDs
	return slices.Clone(p.partitions), nil
}

// Send puts events into a partition, in their order, in as few batches as
// possible. It returns nil when the hub has acknowledged all of them; after an
// error any of them may be there. The kind is Invalid if an event is larger
// than the hub takes.
func (p *Producer) Send(ctx context.Context, partition string, events []message.Event) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	id := p.hub + "/" + partition
	for rest := events; len(rest) > 0; {
		batch, err := p.client.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: &partition})
		if err != nil {
			return judge.Fail(ctx, "open batch for partition", id, err)
		}
		n := 0
		for ; n < len(rest); n++ {
			if err = batch.AddEventData(encode(rest[n]), nil); err != nil {
				break
			}
		}
		if err != nil && (n == 0 || !errors.Is(err, azeventhubs.ErrEventDataTooLarge)) {
			return judge.Fail(ctx, "add event of "+rest[n].PartitionKey+" to a batch for partition", id, err)
		}
		if err := p.client.SendEventDataBatch(ctx, batch, nil); err != nil {
			return judge.Fail(ctx, "send to partition", id, err)
		}
		rest = rest[n:]
	}
	return nil
}

func encode(e message.Event) *azeventhubs.EventData {
	contentType := "application/json"
	out := &azeventhubs.EventData{Body: e.Body, ContentType: &contentType}
	if e.TraceParent != "" {
		out.Properties = map[string]any{TraceParent: e.TraceParent}
	}
	return out
}

// Close closes the connection. What is being sent fails.
func (p *Producer) Close(ctx context.Context) error {
	if err := p.client.Close(ctx); err != nil {
		return fmt.Errorf("close Event Hubs: %w", err)
	}
	return nil
}
