package messaging

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

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
		sender, err := s.sender(g.queue)
		if err != nil {
			return err
		}
		if err := sendBatches(ctx, sender, g); err != nil {
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

// sendBatches sends the messages of one target in batches, each as full as can be.
func sendBatches(ctx context.Context, sender *azservicebus.Sender, t *target) error {
	for rest := t.messages; len(rest) > 0; {
		batch, err := sender.NewMessageBatch(ctx, nil)
		if err != nil {
			return serviceBus.Fail(ctx, "open batch for queue", t.queue, err)
		}
		n := 0
		for ; n < len(rest); n++ {
			if err = batch.AddMessage(messageOf(rest[n]), nil); err != nil {
				break
			}
		}
		if err != nil && (n == 0 || !errors.Is(err, azservicebus.ErrMessageTooLarge)) {
			return serviceBus.Fail(ctx, "add message "+rest[n].MessageID+" to a batch for queue", t.queue, err)
		}
		if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
			return serviceBus.Fail(ctx, "send to queue", t.queue, err)
		}
		rest = rest[n:]
	}
	return nil
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
