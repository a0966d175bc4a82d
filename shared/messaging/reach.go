package messaging

import (
	"context"
	"errors"
	"fmt"
)

// ReachHub reads the properties of the hub, over a connection of its own: one that
// is open already may not have noticed an outage.
func ReachHub(ctx context.Context, c Connection, hub string) (err error) {
	producer, err := OpenProducer(c, hub, Options{Retries: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close(ctx)) }()
	_, err = producer.Partitions(ctx)
	return err
}

// ReachQueues opens a link to each queue, which tells whether the queue is there
// and whether this app may send to it; over a connection of its own.
func ReachQueues(ctx context.Context, c Connection, queues ...string) (err error) {
	sender, err := OpenSender(c, Options{Retries: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sender.Close(ctx)) }()
	for _, queue := range queues {
		link, err := sender.sender(queue)
		if err == nil {
			_, err = link.NewMessageBatch(ctx, nil)
		}
		if err != nil {
			return fmt.Errorf("open queue %s: %w", queue, err)
		}
	}
	return nil
}
