package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// relay hands a batch of events on. An error makes the host repeat the batch,
// for ever.
func (a *App) relay(ctx context.Context, i *customhandler.Invocation) error {
	batch, err := batchOf(i)
	if err != nil {
		return err
	}
	return a.services.relay.Relay(ctx, batch)
}

// batchOf reads a batch of the Event Hubs trigger.
func batchOf(i *customhandler.Invocation) (relay.Batch, error) {
	bodies, err := i.BytesArray("events")
	if err != nil {
		return relay.Batch{}, err
	}
	sequence, err := i.Metadata.Ints("SequenceNumberArray")
	if err != nil {
		return relay.Batch{}, err
	}
	enqueued, err := i.Metadata.Times("EnqueuedTimeUtcArray")
	if err != nil {
		return relay.Batch{}, err
	}
	properties, err := i.Metadata.Objects("PropertiesArray")
	if err != nil {
		return relay.Batch{}, err
	}
	n := len(bodies)
	if len(sequence) != n || len(enqueued) != n || len(properties) != n {
		return relay.Batch{}, fmt.Errorf("batch of %d events has %d sequence numbers, %d times and %d properties",
			n, len(sequence), len(enqueued), len(properties))
	}
	batch := relay.Batch{Events: make([]relay.Event, n)}
	if err := partitionOf(i, &batch); err != nil {
		return relay.Batch{}, err
	}
	for at := range bodies {
		batch.Events[at] = relay.Event{
			SequenceNumber: sequence[at], EnqueuedAt: enqueued[at],
			Body: bodies[at], Properties: valuesOf(properties[at]),
		}
	}
	return batch, nil
}

// partitionOf reads which partition a batch is of.
func partitionOf(i *customhandler.Invocation, batch *relay.Batch) error {
	partition, err := i.Metadata.Object("PartitionContext")
	if err != nil {
		return err
	}
	m := customhandler.Metadata(partition)
	for name, into := range map[string]*string{
		"EventHubName": &batch.Hub, "ConsumerGroup": &batch.ConsumerGroup, "PartitionId": &batch.Partition,
	} {
		if *into, err = m.String(name); err != nil {
			return fmt.Errorf("partition context: %w", err)
		}
	}
	return nil
}

// valuesOf decodes application properties, for people who look at an entry of
// the quarantine.
func valuesOf(properties map[string]json.RawMessage) map[string]any {
	values := make(map[string]any, len(properties))
	for name, raw := range properties {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			value = string(raw)
		}
		values[name] = value
	}
	return values
}
