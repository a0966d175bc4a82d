package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// messaging starts the message emulators and gives their connection string.
func messaging(t *testing.T, c broker.Config) string {
	t.Helper()
	c.KeyName, c.Key = "RootManageSharedAccessKey", "a2V5"
	log := slog.New(slog.DiscardHandler)
	b, err := broker.New(c, store.NewMemory(), log)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := amqp.NewServer(b, amqp.Options{Logger: log})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, amqp.ErrServerClosed) {
			t.Error(err)
		}
	})
	return b.ConnectionString(l.Addr().String())
}

// containers starts a Cosmos DB emulator with the two containers of the host.
func containers(t *testing.T) (checkpoints, timers *azcosmos.ContainerClient) {
	t.Helper()
	backing := store.NewMemory()
	account, err := cosmos.New(cosmos.Config{}, backing)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(account)
	client, err := azcosmos.NewClientFromConnectionString(account.ConnectionString(strings.TrimPrefix(server.URL, "http://")), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
		if err := account.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "host"}, nil); err != nil {
		t.Fatal(err)
	}
	db, err := client.NewDatabase("host")
	if err != nil {
		t.Fatal(err)
	}
	open := func(id string) *azcosmos.ContainerClient {
		key := azcosmos.PartitionKeyDefinition{Paths: []string{"/id"}, Kind: azcosmos.PartitionKeyKindHash, Version: 2}
		if _, err := db.CreateContainer(ctx, azcosmos.ContainerProperties{ID: id, PartitionKeyDefinition: key}, nil); err != nil {
			t.Fatal(err)
		}
		c, err := db.NewContainer(id)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return open("checkpoints"), open("timers")
}

// produce sends events to one partition of a hub.
func produce(t *testing.T, connection, hub, partition string, bodies ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p, err := azeventhubs.NewProducerClientFromConnectionString(connection, hub, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(ctx)
	batch, err := p.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: &partition})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		if err := batch.AddEventData(&azeventhubs.EventData{Body: []byte(body)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SendEventDataBatch(ctx, batch, nil); err != nil {
		t.Fatal(err)
	}
}

// send sends messages to a queue, each with its body as its message id.
func send(t *testing.T, connection, queue string, bodies ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(ctx)
	s, err := client.NewSender(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		if err := s.SendMessage(ctx, &azservicebus.Message{Body: []byte(body), MessageID: &body}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// empty waits until a queue holds no message, locked ones included.
func empty(t *testing.T, connection, queue string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.WithoutCancel(ctx))
	r, err := client.NewReceiverForQueue(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	from := int64(0)
	for {
		msgs, err := r.PeekMessages(ctx, 1, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
		if err != nil {
			t.Fatalf("queue %s isn't empty: %v", queue, err)
		}
		if len(msgs) == 0 {
			return
		}
		<-tick.C
	}
}
