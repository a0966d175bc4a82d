package contract

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// The entities that the messaging tests use; each test has a broker of its own.
const (
	queueName = "Deliveries"
	hubName   = "requests"
)

func messagingConfig() broker.Config {
	return broker.Config{
		KeyName: "RootManageSharedAccessKey", Key: "c2VjcmV0",
		Queues: []broker.QueueConfig{{
			Name: queueName, LockDuration: time.Minute, MaxDeliveryCount: 3, DeadLetterOnExpiry: true,
		}},
		Hubs: []broker.HubConfig{{Name: hubName, Partitions: 4, ConsumerGroups: []string{"relay"}}},
	}
}

// emulated is a broker behind a server on a free port.
type emulated struct {
	*broker.Broker
	connection string
	server     *amqp.Server
	served     chan error
}

// startMessaging serves cfg until the test ends.
func startMessaging(t *testing.T, cfg broker.Config) *emulated {
	t.Helper()
	s := store.NewMemory()
	m := serveMessaging(t, cfg, s)
	t.Cleanup(func() {
		m.stop(t)
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return m
}

func serveMessaging(t *testing.T, cfg broker.Config, s store.Store) *emulated {
	t.Helper()
	b, err := broker.New(cfg, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("new broker: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	m := &emulated{
		Broker: b, connection: b.ConnectionString(l.Addr().String()),
		server: amqp.NewServer(b, amqp.Options{}), served: make(chan error, 1),
	}
	go func() { m.served <- m.server.Serve(l) }()
	return m
}

func (m *emulated) stop(t *testing.T) {
	t.Helper()
	if err := m.server.Close(); err != nil {
		t.Errorf("close the server: %v", err)
	}
	if err := <-m.served; !errors.Is(err, amqp.ErrServerClosed) {
		t.Errorf("serve: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("close the broker: %v", err)
	}
}

// ctx bounds a test; nothing here is meant to come near it.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// closes closes a client's part at the end of the test.
func closes(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := f(ctx); err != nil {
			t.Errorf("close %s: %v", what, err)
		}
	})
}

func (m *emulated) serviceBus(t *testing.T) *azservicebus.Client {
	t.Helper()
	c, err := azservicebus.NewClientFromConnectionString(m.connection, &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatalf("new client: %v", err)
	}
	closes(t, "client", c.Close)
	return c
}

func eventHubsRetry() azeventhubs.RetryOptions {
	return azeventhubs.RetryOptions{RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond}
}

func newSender(t *testing.T, c *azservicebus.Client) *azservicebus.Sender {
	t.Helper()
	s, err := c.NewSender(queueName, nil)
	if err != nil {
		t.Fatalf("new sender: %v", err)
	}
	return s
}

func newReceiver(t *testing.T, c *azservicebus.Client, o *azservicebus.ReceiverOptions) *azservicebus.Receiver {
	t.Helper()
	r, err := c.NewReceiverForQueue(queueName, o)
	if err != nil {
		t.Fatalf("new receiver: %v", err)
	}
	return r
}

func deadLetters(t *testing.T, c *azservicebus.Client) *azservicebus.Receiver {
	t.Helper()
	return newReceiver(t, c, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
}

func send(t *testing.T, s *azservicebus.Sender, msgs ...*azservicebus.Message) {
	t.Helper()
	for _, m := range msgs {
		if err := s.SendMessage(testContext(t), m, nil); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
}

// receive gets exactly n messages.
func receive(t *testing.T, r *azservicebus.Receiver, n int) []*azservicebus.ReceivedMessage {
	t.Helper()
	var all []*azservicebus.ReceivedMessage
	for len(all) < n {
		got, err := r.ReceiveMessages(testContext(t), n-len(all), nil)
		if err != nil {
			t.Fatalf("receive: %v", err)
		}
		all = append(all, got...)
	}
	return all
}

func receiveOne(t *testing.T, r *azservicebus.Receiver) *azservicebus.ReceivedMessage {
	t.Helper()
	return receive(t, r, 1)[0]
}

func text(s string) *azservicebus.Message { return &azservicebus.Message{Body: []byte(s)} }

// must fails the test for the error of a step.
func must(t *testing.T, step string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
}

// eventually waits until ok holds of the broker's numbers.
func (m *emulated) eventually(t *testing.T, ok func(broker.Stats) bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	ctx := testContext(t)
	for {
		s := m.Stats()
		if ok(s) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the numbers never came: %+v", s)
		}
	}
}

// emptied waits until the queue has nothing, not even locked.
func (m *emulated) emptied(t *testing.T) {
	t.Helper()
	m.eventually(t, func(s broker.Stats) bool { return s.Queues[0] == broker.QueueStats{Name: queueName} })
}
