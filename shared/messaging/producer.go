package messaging

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Producer puts events into the partitions of one hub, over one connection with
// a link per partition. It is safe for concurrent use. Close must be called.
type Producer struct {
	client  *azeventhubs.ProducerClient
	hub     string
	timeout time.Duration
}

var _ ingest.Producer = (*Producer)(nil)

// OpenProducer returns a Producer for a hub. It connects with its first operation.
func OpenProducer(c Connection, hub string, o Options) (*Producer, error) {
	o, err := o.complete(c)
	if err != nil {
		return nil, fmt.Errorf("open Event Hubs: %w", err)
	}
	options := &azeventhubs.ProducerClientOptions{ApplicationID: o.Application, RetryOptions: o.hubRetry()}
	var client *azeventhubs.ProducerClient
	if c.ConnectionString != "" {
		client, err = azeventhubs.NewProducerClientFromConnectionString(c.ConnectionString, hub, options)
	} else {
		client, err = azeventhubs.NewProducerClient(c.Namespace, hub, c.Credential, options)
	}
	if err != nil {
		return nil, fmt.Errorf("open Event Hubs: %w", err)
	}
	return &Producer{client: client, hub: hub, timeout: o.Timeout}, nil
}

func (o Options) hubRetry() azeventhubs.RetryOptions {
	return azeventhubs.RetryOptions{
		MaxRetries: int32(o.Retries), RetryDelay: o.RetryDelay, MaxRetryDelay: o.MaxRetryDelay,
	}
}

// Partitions reads the ids of the hub's partitions.
func (p *Producer) Partitions(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	properties, err := p.client.GetEventHubProperties(ctx, nil)
	if err != nil {
		return nil, eventHubs.Fail(ctx, "read properties of hub", p.hub, err)
	}
	return properties.PartitionIDs, nil
}

// Send puts events into a partition, in their order, in as few batches as
// possible. It returns nil when the hub has acknowledged all of them; after an
// error any of them may be there. The kind is Invalid if an event is larger
// than the hub takes.
func (p *Producer) Send(ctx context.Context, partition string, events []ingest.Event) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	id := p.hub + "/" + partition
	for rest := events; len(rest) > 0; {
		batch, err := p.client.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: &partition})
		if err != nil {
			return sendFailure(ctx, "open batch for partition", id, err)
		}
		n := 0
		for ; n < len(rest); n++ {
			if err = batch.AddEventData(eventDataOf(rest[n]), nil); err != nil {
				break
			}
		}
		if err != nil && (n == 0 || !errors.Is(err, azeventhubs.ErrEventDataTooLarge)) {
			return sendFailure(ctx, "add event of "+rest[n].TransactionID+" to a batch for partition", id, err)
		}
		if err := p.client.SendEventDataBatch(ctx, batch, nil); err != nil {
			return sendFailure(ctx, "send to partition", id, err)
		}
		rest = rest[n:]
	}
	return nil
}

// sendFailure is eventHubs.Fail, and tells of a hub that refuses: the condition is that of a
// disabled entity (github.com/Azure/azure-sdk-for-net, AmqpError.cs of Event Hubs).
func sendFailure(ctx context.Context, op, id string, err error) error {
	failed := eventHubs.Fail(ctx, op, id, err)
	var remote *amqp.Error
	if errors.As(err, &remote) && remote.Condition == entityDisabled {
		return fmt.Errorf("%w: %w", ingest.ErrRefusing, failed)
	}
	return failed
}

func eventDataOf(e ingest.Event) *azeventhubs.EventData {
	contentType := "application/json"
	out := &azeventhubs.EventData{Body: e.Body, ContentType: &contentType}
	if e.TraceParent != "" {
		out.Properties = map[string]any{telemetry.TraceParentKey: e.TraceParent}
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
