package amqp_test

import (
	"context"
	"net"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"

	goamqp "github.com/Azure/go-amqp"
)

// withoutFaults runs a benchmark for a Server that can't break and for one that
// could, but has no plan to: they should cost the same.
func withoutFaults(b *testing.B, run func(b *testing.B, options amqp.Options)) {
	b.Run("no injector", func(b *testing.B) { run(b, amqp.Options{}) })
	b.Run("no plan", func(b *testing.B) { run(b, amqp.Options{Faults: fault.New()}) })
}

func benchmarkSession(b *testing.B, service amqp.Service, options amqp.Options) *goamqp.Session {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := amqp.NewServer(service, options)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := goamqp.Dial(context.Background(), "amqp://"+l.Addr().String(), nil)
	if err != nil {
		b.Fatal(err)
	}
	session, err := conn.NewSession(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		_ = server.Close()
		<-served
	})
	return session
}

// BenchmarkSend measures transfers of 1 KiB that a client waits for in bulk.
func BenchmarkSend(b *testing.B) { withoutFaults(b, benchmarkSend) }

func benchmarkSend(b *testing.B, options amqp.Options) {
	sink := newSink()
	sink.onTransfer = func(_ amqp.Transfer, done func(error)) { done(nil) }
	sender, err := benchmarkSession(b, &fakeService{openSink: sink.open}, options).NewSender(context.Background(), "orders", nil)
	if err != nil {
		b.Fatal(err)
	}
	m := goamqp.NewMessage(make([]byte, 1024))
	receipts := make(chan goamqp.SendReceipt, 500)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for r := range receipts {
			if _, err := r.Wait(context.Background()); err != nil {
				done <- err
				return
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		r, err := sender.SendWithReceipt(context.Background(), m, nil)
		if err != nil {
			b.Fatal(err)
		}
		receipts <- r
	}
	close(receipts)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReceive measures settled deliveries of 1 KiB.
func BenchmarkReceive(b *testing.B) { withoutFaults(b, benchmarkReceive) }

func benchmarkReceive(b *testing.B, options amqp.Options) {
	payload, err := goamqp.NewMessage(make([]byte, 1024)).MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	source := &endlessSource{delivery: amqp.Delivery{Tag: []byte("tag"), Payload: payload}}
	service := &fakeService{openSource: func(_ context.Context, _ amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		source.out = out
		return source, amqp.LinkOptions{Settled: true}, nil
	}}
	r, err := benchmarkSession(b, service, options).NewReceiver(context.Background(), "orders", &goamqp.ReceiverOptions{Credit: 1000})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Receive(context.Background(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// endlessSource sends one delivery over and over.
type endlessSource struct {
	out      amqp.Outgoing
	delivery amqp.Delivery
}

func (s *endlessSource) Credit(uint32, func()) {
	for s.out.Send(s.delivery) {
	}
}

func (s *endlessSource) Settle(_ []byte, _ amqp.Outcome, done func(error)) { done(nil) }
func (s *endlessSource) Close()                                            {}
