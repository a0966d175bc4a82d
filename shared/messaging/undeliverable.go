package messaging

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

const (
	// peeked is how many messages of a dead-letter sub-queue are looked at in one
	// run, the oldest first; what no function gets stays there and becomes the
	// oldest.
	peeked = 50
	// gathering is how long a receive waits for more, once it has one.
	gathering = 50 * time.Millisecond
)

// DrainUndeliverable moves what no function can ever be given from a queue's
// dead-letter sub-queue: keep makes each durable, then it is completed. It
// returns how many that were.
//
// A message whose body is an AMQP sequence, or a value that is no string, fails
// in the Service Bus extension before its function is called, so that it ends in
// the dead-letter sub-queue, and there fails again, for ever
// (Microsoft.Azure.WebJobs.Extensions.ServiceBus 5.x, MessageToStringConverter).
// What others there are is the function's, and let go again.
func (s *Sender) DrainUndeliverable(ctx context.Context, queue string, keep func(context.Context, quarantine.Received) error) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	receiver, err := s.client.NewReceiverForQueue(queue, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		return 0, serviceBus.Fail(ctx, "open dead letters of queue", queue, err)
	}
	n, err := drain(ctx, receiver, queue, keep)
	// The link is of no more use; that it can't be closed changes nothing.
	_ = receiver.Close(context.WithoutCancel(ctx))
	return n, err
}

func drain(ctx context.Context, r *azservicebus.Receiver, queue string, keep func(context.Context, quarantine.Received) error) (kept int, err error) {
	waiting, err := r.PeekMessages(ctx, peeked, nil)
	if err != nil {
		return 0, serviceBus.Fail(ctx, "look at dead letters of queue", queue, err)
	}
	left := 0
	for _, m := range waiting {
		if undeliverable(m) {
			left++
		}
	}
	if left == 0 {
		return 0, nil
	}
	messages, err := r.ReceiveMessages(ctx, len(waiting), &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: gathering})
	if err != nil {
		return 0, serviceBus.Fail(ctx, "receive dead letters of queue", queue, err)
	}
	var errs []error
	for _, m := range messages {
		if undeliverable(m) {
			if err := keep(ctx, deadLetter(m, queue)); err != nil { // judged where it was seen
				errs = append(errs, fmt.Errorf("keep dead letter %s of queue %s: %w", m.MessageID, queue, err))
				continue
			}
			kept++
			err = r.CompleteMessage(ctx, m, nil)
		} else {
			err = r.AbandonMessage(ctx, m, nil)
		}
		if err != nil {
			errs = append(errs, serviceBus.Fail(ctx, "settle dead letter "+m.MessageID+" of queue", queue, err))
		}
	}
	return kept, errors.Join(errs...)
}

func undeliverable(m *azservicebus.ReceivedMessage) bool {
	raw := m.RawAMQPMessage
	if raw == nil {
		return false
	}
	_, text := raw.Body.Value.(string)
	return len(raw.Body.Sequence) > 0 || raw.Body.Value != nil && !text
}

// deadLetter returns the message with its body as people can read it.
func deadLetter(m *azservicebus.ReceivedMessage, queue string) quarantine.Received {
	out := quarantine.Received{Queue: queue, MessageID: m.MessageID, Properties: m.ApplicationProperties}
	if m.SequenceNumber != nil {
		out.SequenceNumber = *m.SequenceNumber
	}
	if m.DeadLetterReason != nil {
		out.Reason = *m.DeadLetterReason
	}
	if m.DeadLetterErrorDescription != nil {
		out.Description = *m.DeadLetterErrorDescription
	}
	if body := m.RawAMQPMessage.Body; len(body.Sequence) > 0 {
		out.Body = fmt.Append(nil, body.Sequence)
	} else {
		out.Body = fmt.Append(nil, body.Value)
	}
	return out
}
