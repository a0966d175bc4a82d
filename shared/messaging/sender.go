package messaging

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Sender sends to the queues of a namespace over one connection, with one link
// per queue. It is safe for concurrent use. Close must be called.
type Sender struct {
	client  *azservicebus.Client
	timeout time.Duration

	mu      sync.Mutex
	senders map[string]*azservicebus.Sender // by queue
	closed  bool
}

// OpenSender returns a Sender. It connects with the first Send.
func OpenSender(c Connection, o Options) (*Sender, error) {
	o, err := o.complete(c)
	if err != nil {
		return nil, fmt.Errorf("open Service Bus: %w", err)
	}
	options := &azservicebus.ClientOptions{ApplicationID: o.Application, RetryOptions: azservicebus.RetryOptions{
		MaxRetries: int32(o.Retries), RetryDelay: o.RetryDelay, MaxRetryDelay: o.MaxRetryDelay,
	}}
	var client *azservicebus.Client
	if c.ConnectionString != "" {
		client, err = azservicebus.NewClientFromConnectionString(c.ConnectionString, options)
	} else {
		client, err = azservicebus.NewClient(c.Namespace, c.Credential, options)
	}
	if err != nil {
		return nil, fmt.Errorf("open Service Bus: %w", err)
	}
	return &Sender{client: client, timeout: o.Timeout, senders: map[string]*azservicebus.Sender{}}, nil
}

// Send sends the messages to their queues, those for one queue and time in as
// few batches as possible. It returns nil when all are stored; after an error
// any of them may be. The kind is Invalid, and nothing was sent to its queue
// after it, if a message is larger than its queue takes.
func (s *Sender) Send(ctx context.Context, messages ...engine.Queued) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for _, g := range group(messages) {
		if err := s.sendBatches(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// target is the messages that can share a batch. The envelope of a batch
// repeats the schedule of its first message, so no two schedules are mixed.
type target struct {
	queue    string
	at       time.Time
	messages []engine.Queued
}

// group sorts messages by target, in the order of their first message.
func group(messages []engine.Queued) []*target {
	type key struct {
		queue string
		at    int64
	}
	var targets []*target
	byKey := map[key]*target{}
	for _, m := range messages {
		k := key{queue: m.Queue}
		if !m.At.IsZero() {
			k.at = m.At.UnixNano()
		}
		t := byKey[k]
		if t == nil {
			t = &target{queue: m.Queue, at: m.At}
			byKey[k] = t
			targets = append(targets, t)
		}
		t.messages = append(t.messages, m)
	}
	return targets
}

// sendBatches sends the messages of one target in batches, and once more if their link has
// ended.
func (s *Sender) sendBatches(ctx context.Context, t *target) error {
	again := true
	for rest := t.messages; len(rest) > 0; {
		sender, err := s.sender(t.queue)
		if err != nil {
			return err
		}
		n, err := sendBatch(ctx, sender, t.queue, rest)
		if linkEnded(err) {
			s.drop(ctx, t.queue, sender)
			if again {
				again = false
				continue
			}
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// sendBatch sends as many of the messages as one batch takes, and returns their number.
func sendBatch(ctx context.Context, sender *azservicebus.Sender, queue string, messages []engine.Queued) (n int, err error) {
	batch, err := sender.NewMessageBatch(ctx, nil)
	if err != nil {
		return 0, serviceBus.Fail(ctx, "open batch for queue", queue, err)
	}
	for ; n < len(messages); n++ {
		if err = batch.AddMessage(messageOf(messages[n]), nil); err != nil {
			break
		}
	}
	if err != nil && (n == 0 || !errors.Is(err, azservicebus.ErrMessageTooLarge)) {
		return 0, serviceBus.Fail(ctx, "add message "+messages[n].MessageID+" to a batch for queue", queue, err)
	}
	if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
		return 0, serviceBus.Fail(ctx, "send to queue", queue, err)
	}
	return n, nil
}

func messageOf(m engine.Queued) *azservicebus.Message {
	contentType := "application/json"
	out := &azservicebus.Message{Body: m.Body, MessageID: &m.MessageID, ContentType: &contentType}
	if !m.At.IsZero() {
		at := m.At.UTC()
		out.ScheduledEnqueueTime = &at
	}
	if m.TraceParent != "" {
		out.ApplicationProperties = map[string]any{telemetry.TraceParentKey: m.TraceParent}
	}
	return out
}

// sender returns the queue's sender, and makes it if there is none yet.
func (s *Sender) sender(queue string) (*azservicebus.Sender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, failure.New(failure.Transient, "send to queue", queue, errors.New("the sender is closed"))
	}
	if sender := s.senders[queue]; sender != nil {
		return sender, nil
	}
	sender, err := s.client.NewSender(queue, nil) // does not connect
	if err != nil {
		return nil, failure.New(failure.Permanent, "open queue", queue, err)
	}
	s.senders[queue] = sender
	return sender, nil
}

// linkEnded reports whether err is that of a link which has ended, and which the SDK doesn't
// replace. It does after some conditions (its code is ConnectionLost then); after others
// (amqp:not-allowed, com.microsoft:entity-disabled) it fails with the same error for ever,
// although the next link may do. A service ends one so when a send was given up between two
// frames of a message: the next message would begin within it, which
// https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-transport-v1.0-os.html#type-transfer
// forbids.
func linkEnded(err error) bool {
	var coded *azservicebus.Error
	if errors.As(err, &coded) && coded.Code != azservicebus.CodeUnauthorizedAccess {
		return coded.Code == azservicebus.CodeClosed // dropped meanwhile
	}
	var ended *amqp.LinkError
	return errors.As(err, &ended)
}

// drop has the next message for a queue sent by another of the SDK's senders than this one.
func (s *Sender) drop(ctx context.Context, queue string, dead *azservicebus.Sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.senders[queue] != dead {
		return
	}
	delete(s.senders, queue)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
		_ = dead.Close(ctx) // nobody uses it any more
	}()
}

// Close closes the connection. What is being sent fails.
func (s *Sender) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if err := s.client.Close(ctx); err != nil {
		return fmt.Errorf("close Service Bus: %w", err)
	}
	return nil
}
