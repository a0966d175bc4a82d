package invariant

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

// peekMessages is how many messages are asked for at a time; the service may
// give fewer.
const peekMessages = 250

// countQueues counts what waits in the queues and in their dead-letter
// sub-queues. Peeking leaves the messages as they are
// (https://learn.microsoft.com/azure/service-bus-messaging/message-browsing).
func countQueues(ctx context.Context, src Source) (_ []Queue, err error) {
	client, err := azservicebus.NewClientFromConnectionString(src.ServiceBus, nil)
	if err != nil {
		return nil, fmt.Errorf("open Service Bus: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	queues := make([]Queue, len(src.Queues))
	for i, name := range src.Queues {
		q := &queues[i]
		q.Name = name
		note := func(m *azservicebus.ReceivedMessage) {
			if _, err := engine.DecodeIn(src.Shard, m.Body); errors.Is(err, engine.ErrOtherShard) {
				q.Strangers++
			}
		}
		err := peek(ctx, client, name, nil, func(m *azservicebus.ReceivedMessage) {
			note(m)
			if m.State == azservicebus.MessageStateScheduled {
				q.Scheduled++
			} else {
				q.Active++
			}
		})
		if err != nil {
			return nil, err
		}
		err = peek(ctx, client, name, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter},
			func(m *azservicebus.ReceivedMessage) { note(m); q.DeadLetters++ })
		if err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// peek calls visit with every message of a queue.
func peek(ctx context.Context, client *azservicebus.Client, queue string, options *azservicebus.ReceiverOptions,
	visit func(*azservicebus.ReceivedMessage)) (err error) {
	receiver, err := client.NewReceiverForQueue(queue, options)
	if err != nil {
		return fmt.Errorf("open queue %s: %w", queue, err)
	}
	defer func() { err = errors.Join(err, receiver.Close(context.WithoutCancel(ctx))) }()
	for {
		messages, err := receiver.PeekMessages(ctx, peekMessages, nil) // goes on behind the last one
		if err != nil {
			return fmt.Errorf("peek queue %s: %w", queue, err)
		}
		if len(messages) == 0 {
			return nil
		}
		for _, m := range messages {
			visit(m)
		}
	}
}
