// Package tail reads the accepted requests of a hub beside their first reader: in a
// consumer group of its own, without checkpoints and without owning a partition, so
// that it moves nobody's position. A reader that is slow, or stands, has its events
// wait in the hub alone.
package tail

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

// Config says what to read.
type Config struct {
	// ConnectionString is that of an emulator. Without one, Namespace is the fully
	// qualified name of the namespace, and Credential lets us in.
	ConnectionString, Namespace string
	Credential                  azcore.TokenCredential

	Hub, Group string
	// Since is when the oldest event was enqueued that is wanted.
	Since time.Time
	// Follow goes on with what comes later, until the context ends.
	Follow bool
}

// Line is an event. What is no envelope has Unreadable, which says why, and Raw.
type Line struct {
	Partition      string    `json:"partition"`
	SequenceNumber int64     `json:"sequenceNumber"`
	EnqueuedAt     time.Time `json:"enqueuedAt"`
	*engine.Envelope
	Unreadable string `json:"unreadable,omitempty"`
	Raw        []byte `json:"raw,omitempty"`
}

// Read tells each of the events, one at a time: those of a partition in their order.
// It returns when all that were there have been told, or with Follow when ctx ends,
// which is no error then, and with the first error of tell.
func Read(ctx context.Context, c Config, tell func(Line) error) error {
	client, err := c.open()
	if err != nil {
		return fmt.Errorf("open hub %s: %w", c.Hub, err)
	}
	// What is read is told by then; nothing is left to lose.
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }()
	hub, err := client.GetEventHubProperties(ctx, nil)
	if err != nil {
		return fmt.Errorf("read properties of hub %s: %w", c.Hub, err)
	}
	var telling sync.Mutex
	group, reading := errgroup.WithContext(ctx)
	for _, id := range hub.PartitionIDs {
		group.Go(func() error {
			err := c.read(reading, client, id, func(l Line) error {
				telling.Lock()
				defer telling.Unlock()
				return tell(l)
			})
			if err != nil {
				return fmt.Errorf("read partition %s of hub %s in consumer group %s: %w", id, c.Hub, c.Group, err)
			}
			return nil
		})
	}
	err = group.Wait()
	if c.Follow && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func (c Config) open() (*azeventhubs.ConsumerClient, error) {
	if c.ConnectionString != "" {
		return azeventhubs.NewConsumerClientFromConnectionString(c.ConnectionString, c.Hub, c.Group, nil)
	}
	return azeventhubs.NewConsumerClient(c.Namespace, c.Hub, c.Group, c.Credential, nil)
}

func (c Config) read(ctx context.Context, client *azeventhubs.ConsumerClient, partition string, tell func(Line) error) error {
	there, err := client.GetPartitionProperties(ctx, partition, nil)
	if err != nil {
		return err
	}
	if none := there.IsEmpty || there.LastEnqueuedOn.Before(c.Since); none && !c.Follow {
		return nil
	}
	// Without an owner level: a reader with one keeps all others of its group away.
	events, err := client.NewPartitionClient(partition, &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{EnqueuedTime: &c.Since, Inclusive: true},
	})
	if err != nil {
		return err
	}
	defer func() { _ = events.Close(context.WithoutCancel(ctx)) }()
	for {
		got, err := events.ReceiveEvents(ctx, 1, nil)
		if err != nil {
			return err
		}
		for _, e := range got {
			if err := tell(lineOf(partition, e)); err != nil {
				return err
			}
			if !c.Follow && e.SequenceNumber >= there.LastEnqueuedSequenceNumber {
				return nil
			}
		}
	}
}

func lineOf(partition string, e *azeventhubs.ReceivedEventData) Line {
	l := Line{Partition: partition, SequenceNumber: e.SequenceNumber}
	if e.EnqueuedTime != nil {
		l.EnqueuedAt = e.EnqueuedTime.UTC()
	}
	envelope, err := engine.Decode(e.Body)
	if err != nil {
		l.Unreadable, l.Raw = err.Error(), e.Body
		return l
	}
	l.Envelope = &envelope
	return l
}
