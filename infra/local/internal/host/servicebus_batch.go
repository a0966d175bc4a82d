package host

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// batchGather is how long a batch waits for more messages once it has one, as
// the SDK does by itself.
const batchGather = 20 * time.Millisecond

// settleAtOnce bounds the settlements of one batch in flight.
const settleAtOnce = 32

// receiveBatches runs one batch at a time. Its locks aren't renewed, and it is
// settled whole: all completed, or all abandoned.
func (l *serviceBus) receiveBatches(ctx context.Context, r *azservicebus.Receiver) error {
	for {
		msgs, err := l.batch(ctx, r)
		if len(msgs) > 0 {
			l.serveBatch(r, msgs)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil || (len(msgs) == 0 && !sleep(ctx, recoverWait)) {
			return ctx.Err()
		}
	}
}

// batch receives up to maxMessageBatchSize messages. With minMessageBatchSize
// above 1 it waits up to maxBatchWaitTime for that many.
func (l *serviceBus) batch(ctx context.Context, r *azservicebus.Receiver) ([]*azservicebus.ReceivedMessage, error) {
	c := l.host.app.Host.ServiceBus
	most := min(c.MaxBatch, maxCredit)
	options := &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: batchGather}
	msgs, err := r.ReceiveMessages(ctx, most, options)
	if err != nil || len(msgs) == 0 {
		return msgs, err
	}
	limited, cancel := context.WithTimeout(ctx, c.MaxBatchWait)
	defer cancel()
	for len(msgs) < c.MinBatch {
		more, err := r.ReceiveMessages(limited, most-len(msgs), options)
		msgs = append(msgs, more...)
		if limited.Err() != nil {
			break
		}
		if err != nil {
			return msgs, err
		}
	}
	return msgs, nil
}

func (l *serviceBus) serveBatch(r *azservicebus.Receiver, msgs []*azservicebus.ReceivedMessage) {
	inv, err := payload.Messages(l.fn.Trigger.Binding, l.fn.Trigger.DataType, msgs, l.client())
	if err != nil {
		l.host.cfg.Logger.Error(fmt.Sprintf("Functions.%s: the messages can't be encoded", l.fn.Name), "messages", len(msgs), "error", err)
	} else {
		_, err = l.host.invoke(l.host.calls, l.fn, inv, nil)
	}
	var g errgroup.Group
	g.SetLimit(settleAtOnce)
	for _, msg := range msgs {
		g.Go(func() error {
			l.settle(r, msg, err)
			return nil
		})
	}
	_ = g.Wait() // settle logs its own failures
}
