package contract

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// What the benchmarks send: bodies of this size, by so many goroutines, events
// in batches of so many.
const (
	benchmarkBody    = 1000
	benchmarkClients = 16
	benchmarkBatch   = 100
)

// benchmarkMessaging serves a broker that keeps everything on disk, as serve
// does, and gives its connection string.
//
//	go test -run '^$' -bench Durable ./infra/local/internal/contract
func benchmarkMessaging(b *testing.B) (string, *counted) {
	b.Helper()
	disk, err := store.OpenDisk(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	br, err := broker.New(messagingConfig(), disk, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	l := listenCounted(b)
	server := amqp.NewServer(br, amqp.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	b.Cleanup(func() {
		server.Close() // what it says is of no use to a benchmark
		<-served
		br.Close()
		disk.Close()
	})
	return br.ConnectionString(l.Addr().String()), l
}

func benchmarkServiceBus(b *testing.B) (*azservicebus.Sender, *azservicebus.Receiver, *counted) {
	b.Helper()
	connection, l := benchmarkMessaging(b)
	c, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(context.Background()) })
	sender, err := c.NewSender(queueName, nil)
	if err != nil {
		b.Fatal(err)
	}
	receiver, err := c.NewReceiverForQueue(queueName, nil)
	if err != nil {
		b.Fatal(err)
	}
	return sender, receiver, l
}

// each does something n times, by benchmarkClients goroutines.
func each(b *testing.B, n int, do func() error) {
	b.Helper()
	next := make(chan struct{})
	var clients sync.WaitGroup
	for range benchmarkClients {
		clients.Go(func() {
			for range next {
				if err := do(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for range n {
		next <- struct{}{}
	}
	close(next)
	clients.Wait()
}

// BenchmarkDurableSend sends messages to a queue, each acknowledged by itself.
func BenchmarkDurableSend(b *testing.B) {
	sender, _, l := benchmarkServiceBus(b)
	body := make([]byte, benchmarkBody)
	send := func() error { return sender.SendMessage(b.Context(), &azservicebus.Message{Body: body}, nil) }
	each(b, 1, send) // opens the link
	besideEcho(b, l, func() { each(b, b.N, send) })
}

// BenchmarkDurableComplete receives messages and completes each.
func BenchmarkDurableComplete(b *testing.B) {
	sender, receiver, l := benchmarkServiceBus(b)
	body := make([]byte, benchmarkBody)
	each(b, b.N, func() error { return sender.SendMessage(b.Context(), &azservicebus.Message{Body: body}, nil) })
	besideEcho(b, l, func() {
		for left := b.N; left > 0; {
			messages, err := receiver.ReceiveMessages(b.Context(), min(left, benchmarkClients), nil)
			if err != nil {
				b.Fatal(err)
			}
			var settling sync.WaitGroup
			for _, m := range messages {
				settling.Go(func() {
					if err := receiver.CompleteMessage(b.Context(), m, nil); err != nil {
						b.Error(err)
					}
				})
			}
			settling.Wait()
			left -= len(messages)
		}
	})
}

// BenchmarkDurableBatch sends batches of events to a hub.
func BenchmarkDurableBatch(b *testing.B) {
	connection, l := benchmarkMessaging(b)
	c, err := azeventhubs.NewProducerClientFromConnectionString(connection, hubName, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(context.Background()) })
	body := make([]byte, benchmarkBody)
	send := func() error {
		batch, err := c.NewEventDataBatch(b.Context(), nil)
		if err != nil {
			return err
		}
		for range benchmarkBatch {
			if err := batch.AddEventData(&azeventhubs.EventData{Body: body}, nil); err != nil {
				return err
			}
		}
		return c.SendEventDataBatch(b.Context(), batch, nil)
	}
	each(b, 1, send) // opens the link
	besideEcho(b, l, func() { each(b, b.N, send) })
}
