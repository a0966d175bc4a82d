package broker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// BenchmarkWaiting keeps events and messages of 1 KiB on disk that nobody reads, and
// reports how much memory each pair of them takes: as they come, and after a restart.
//
//	go test -run '^$' -bench Waiting -benchtime 1000000x ./infra/local/internal/broker
func BenchmarkWaiting(b *testing.B) {
	cfg := testConfig()
	cfg.Queues[0].DuplicateWindow = 10 * time.Minute
	dir := b.TempDir()
	before := heap()
	serve := func(use func(*Broker)) {
		disk, err := store.OpenDisk(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		br, err := New(cfg, disk, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		admit(b, br)
		use(br)
		if err := br.Close(); err != nil {
			b.Fatal(err)
		}
		if err := disk.Close(); err != nil {
			b.Fatal(err)
		}
	}
	serve(func(br *Broker) {
		b.ResetTimer()
		fill(b, br, b.N)
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/float64(b.N), "heap-B/op")
	})
	serve(func(br *Broker) {
		if n := br.Stats().Queues[0].Active; n != b.N {
			b.Errorf("%d messages after the restart, of %d", n, b.N)
		}
		b.ReportMetric(float64(heap()-before)/float64(b.N), "restarted-heap-B/op")
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fill sends n events, 25 to a batch, and n messages.
func fill(b *testing.B, br *Broker, n int) {
	b.Helper()
	open := func(address string) amqp.Sink {
		sink, _, err := br.OpenSink(context.Background(), amqp.Attach{Conn: conn, Address: address})
		if err != nil {
			b.Fatal(err)
		}
		return sink
	}
	hub, queue := open("hub"), open("orders")
	encode := func(m *goamqp.Message) []byte {
		text, err := m.MarshalBinary()
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	const batch = 25
	body := make([]byte, 1024)
	var sent sync.WaitGroup
	send := func(s amqp.Sink, t amqp.Transfer) {
		sent.Add(1)
		s.Transfer(t, func(err error) {
			defer sent.Done()
			if err != nil {
				b.Errorf("send: %v", err)
			}
		})
	}
	events := &goamqp.Message{}
	for range batch {
		events.Data = append(events.Data, encode(goamqp.NewMessage(body)))
	}
	for i := range n {
		if i%batch == 0 {
			send(hub, amqp.Transfer{Format: batchFormat, Payload: encode(events)})
		}
		m := goamqp.NewMessage(body)
		m.Properties = &goamqp.MessageProperties{MessageID: fmt.Sprintf("0198f3c2-7d5e-7000-8000-%012d", i)}
		send(queue, amqp.Transfer{Payload: encode(m)})
		if i%1000 == 999 {
			sent.Wait()
		}
	}
	sent.Wait()
}
