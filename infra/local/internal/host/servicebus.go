package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// maxCredit is the most that the SDK lets one receive ask for.
const maxCredit = 5000

// serviceBus is the listener of a Service Bus trigger: PeekLock, complete on
// success, abandon at once on failure.
type serviceBus struct {
	host *Host
	fn   *config.Function
}

func (h *Host) newServiceBus(f *config.Function) *serviceBus { return &serviceBus{host: h, fn: f} }

func (l *serviceBus) function() *config.Function { return l.fn }

func (l *serviceBus) run(ctx context.Context) {
	l.host.keepListening(ctx, l.fn, l.listen)
}

// listen receives until ctx ends or the receiver fails, then waits for the
// calls that run.
func (l *serviceBus) listen(ctx context.Context) error {
	client, err := l.host.serviceBusClient(l.fn.Trigger)
	if err != nil {
		return fmt.Errorf("connect to the namespace: %w", err)
	}
	defer l.host.closing("service bus client", client.Close)
	receiver, err := serviceBusReceiver(client, l.fn.Trigger)
	if err != nil {
		return fmt.Errorf("open %s: %w", l.fn.Trigger.Entity(), err)
	}
	if l.fn.Trigger.Many {
		return l.receiveBatches(ctx, receiver)
	}
	return l.receiveSingly(ctx, receiver)
}

// receiveSingly runs up to maxConcurrentCalls calls at once. It asks for as
// many messages as calls are free, and takes what comes without waiting for
// the rest, so that a single message isn't held back.
func (l *serviceBus) receiveSingly(ctx context.Context, r *azservicebus.Receiver) error {
	free := make(chan struct{}, min(l.host.app.Host.ServiceBus.MaxConcurrentCalls, maxCredit))
	for range cap(free) {
		free <- struct{}{}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		n, ok := takeAll(ctx, free)
		if !ok {
			return ctx.Err()
		}
		msgs, err := r.ReceiveMessages(ctx, n, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: gather})
		for range n - len(msgs) {
			free <- struct{}{}
		}
		for _, msg := range msgs {
			wg.Go(func() {
				defer func() { free <- struct{}{} }()
				l.serveOne(r, msg)
			})
		}
		if err != nil {
			return err
		}
		if len(msgs) == 0 && !sleep(ctx, recoverWait) {
			return ctx.Err()
		}
	}
}

// recoverWait is the pause after a receive that ended without messages or
// error: the SDK has closed a broken link and opens it with the next call.
const recoverWait = 50 * time.Millisecond

// takeAll waits for one token and takes all that are there.
func takeAll(ctx context.Context, tokens chan struct{}) (int, bool) {
	select {
	case <-tokens:
	case <-ctx.Done():
		return 0, false
	}
	for n := 1; ; n++ {
		select {
		case <-tokens:
		default:
			return n, true
		}
	}
}

// serveOne calls the function for one message while it keeps the lock, and
// settles.
func (l *serviceBus) serveOne(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) {
	inv, err := payload.Message(l.fn.Trigger.Binding, l.fn.Trigger.DataType, msg, l.client())
	if err != nil {
		l.host.cfg.Logger.Error(fmt.Sprintf("Functions.%s: the message can't be encoded", l.fn.Name), "messageId", msg.MessageID, "error", err)
	} else {
		stop := l.keepLock(r, msg)
		_, err = l.host.invoke(l.host.calls, l.fn, inv, nil)
		stop()
	}
	l.settle(r, msg, err)
}

// settle completes a message after success and abandons it after failure. It
// gives up when the lock has ended: the SDK would try on for long on a connection
// that is gone, and the message's place is wanted by others.
func (l *serviceBus) settle(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage, failure error) {
	left := settleTimeout
	if msg.LockedUntil != nil {
		left = min(left, max(time.Second, msg.LockedUntil.Sub(l.host.cfg.Now())))
	}
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	what, err := "complete", error(nil)
	if failure == nil {
		err = r.CompleteMessage(ctx, msg, nil)
	} else {
		what, err = "abandon", r.AbandonMessage(ctx, msg, nil)
	}
	if err != nil {
		l.host.cfg.Logger.Warn(fmt.Sprintf("Functions.%s: %s failed: the message comes again when its lock has expired", l.fn.Name, what),
			"messageId", msg.MessageID, "entity", l.fn.Trigger.Entity(), "error", err)
	}
}

// settleTimeout bounds one settlement or checkpoint; after it the lock's expiry
// or the next start decides.
const settleTimeout = 30 * time.Second

func (l *serviceBus) client() payload.BusClient {
	return payload.BusClient{
		FullyQualifiedNamespace: l.fn.Trigger.Connection.FullyQualifiedNamespace,
		Identifier:              l.fn.Trigger.Connection.FullyQualifiedNamespace + "-" + l.host.cfg.InstanceID,
	}
}

func (l *serviceBus) manual(input string) (payload.Invocation, error) {
	msg := &azservicebus.ReceivedMessage{Body: []byte(input)}
	if l.fn.Trigger.Many {
		return payload.Messages(l.fn.Trigger.Binding, l.fn.Trigger.DataType, []*azservicebus.ReceivedMessage{msg}, l.client())
	}
	return payload.Message(l.fn.Trigger.Binding, l.fn.Trigger.DataType, msg, l.client())
}
