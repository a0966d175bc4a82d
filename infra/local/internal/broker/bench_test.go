package broker

import (
	"context"
	"log/slog"
	"net"
	"testing"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// withoutFaults runs a benchmark for a broker that can't break and for one that
// could, but has no plan to: they should cost the same.
func withoutFaults(b *testing.B, run func(b *testing.B, in *fault.Injector)) {
	b.Run("no injector", func(b *testing.B) { run(b, nil) })
	b.Run("no plan", func(b *testing.B) { run(b, fault.New()) })
}

// BenchmarkQueue sends a message of 1 KiB over a connection, receives it and
// completes it, one after the other.
func BenchmarkQueue(b *testing.B) {
	withoutFaults(b, func(b *testing.B, in *fault.Injector) {
		s := benchmarkSession(b, in)
		sender := benchmarkSender(b, s, "orders")
		r, err := s.NewReceiver(context.Background(), "orders", &goamqp.ReceiverOptions{
			Credit: 100, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr(),
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			benchmarkSend(b, sender)
			m, err := r.Receive(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.AcceptMessage(context.Background(), m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHub sends an event of 1 KiB and reads it.
func BenchmarkHub(b *testing.B) {
	withoutFaults(b, func(b *testing.B, in *fault.Injector) {
		s := benchmarkSession(b, in)
		sender := benchmarkSender(b, s, "hub/Partitions/0")
		r, err := s.NewReceiver(context.Background(), "hub/ConsumerGroups/$Default/Partitions/0", &goamqp.ReceiverOptions{
			Credit: 100, SettlementMode: goamqp.ReceiverSettleModeFirst.Ptr(),
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			benchmarkSend(b, sender)
			if _, err := r.Receive(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchmarkSender(b *testing.B, s *goamqp.Session, address string) *goamqp.Sender {
	b.Helper()
	sender, err := s.NewSender(context.Background(), address, nil)
	if err != nil {
		b.Fatal(err)
	}
	return sender
}

func benchmarkSend(b *testing.B, s *goamqp.Sender) {
	b.Helper()
	if err := s.Send(context.Background(), goamqp.NewMessage(make([]byte, 1024)), nil); err != nil {
		b.Fatal(err)
	}
}

// benchmarkSession connects to a broker behind a server of its own.
func benchmarkSession(b *testing.B, in *fault.Injector) *goamqp.Session {
	b.Helper()
	cfg := testConfig()
	cfg.Faults = in
	cfg.Hubs[0].MaxPartitionBytes = 1 << 20
	br, err := New(cfg, store.NewMemory(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	admit(b, br) // conn is the server's first
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := amqp.NewServer(br, amqp.Options{Faults: in})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := goamqp.Dial(context.Background(), "amqp://"+l.Addr().String(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		_ = server.Close()
		<-served
		_ = br.Close()
	})
	s, err := conn.NewSession(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
