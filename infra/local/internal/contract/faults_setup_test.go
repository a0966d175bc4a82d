package contract

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/messaging"
)

// A faultyMessaging breaks as its injector says.
type faultyMessaging struct {
	*emulated
	in *fault.Injector
}

// startFaultyMessaging serves cfg without a plan until the test ends.
func startFaultyMessaging(t *testing.T, cfg broker.Config) *faultyMessaging {
	t.Helper()
	in := fault.New()
	cfg.Faults = in
	s := store.NewMemory()
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
		server: amqp.NewServer(b, amqp.Options{Faults: in}), served: make(chan error, 1),
	}
	go func() { m.served <- m.server.Serve(l) }()
	t.Cleanup(func() {
		m.stop(t)
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return &faultyMessaging{m, in}
}

// plan puts rates into force; none is the end of all faults.
func plan(t *testing.T, in *fault.Injector, p fault.Plan) {
	t.Helper()
	if err := in.Set(p); err != nil {
		t.Fatal(err)
	}
}

// always is the plan that hits one point whenever it can.
func always(p fault.Point) fault.Plan {
	return fault.Plan{Rates: map[fault.Point]float64{p: 1}, SlowSeconds: 0.002}
}

// runContext bounds a random run, which a busy machine stretches.
func runContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// insist repeats an operation until it is acknowledged.
func insist(ctx context.Context, t *testing.T, do func(context.Context) error) {
	t.Helper()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("never acknowledged: %v", err)
			return
		}
	}
}

// wantHit wants that a point was hit.
func wantHit(t *testing.T, in *fault.Injector, p fault.Point) {
	t.Helper()
	if c := in.Counts()[p]; c.Hit == 0 {
		t.Errorf("%s was never hit: %+v", p, c)
	}
}

// wantEveryHit wants that a random run has met each of its points.
func wantEveryHit(t *testing.T, in *fault.Injector, p fault.Plan) {
	t.Helper()
	counts := in.Counts()
	for point := range p.Rates {
		if counts[point].Hit == 0 {
			t.Errorf("%s was never hit: %+v", point, counts[point])
		}
	}
	t.Logf("faults: %v", counts)
}

// wantTransient wants a failure that may go away, with that time to wait.
func wantTransient(t *testing.T, what string, err error, after time.Duration) {
	t.Helper()
	var judged *failure.Error
	if !errors.As(err, &judged) || !failure.Is(err, failure.Transient) || failure.RetryAfter(err) != after {
		t.Errorf("%s: got %v of kind %v, delay %v; want a transient one, delay %v", what, err, failure.KindOf(err), failure.RetryAfter(err), after)
	}
}

// sender is the app's sender, quick to repeat.
func (m *faultyMessaging) sender(t *testing.T) *messaging.Sender {
	t.Helper()
	s, err := messaging.OpenSender(messaging.Connection{ConnectionString: m.connection}, messaging.Options{
		Retries: faultRetries, RetryDelay: time.Millisecond, MaxRetryDelay: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, "sender", s.Close)
	return s
}

// producer is the app's producer, quick to repeat.
func (m *faultyMessaging) producer(t *testing.T) *messaging.Producer {
	t.Helper()
	p, err := messaging.OpenProducer(messaging.Connection{ConnectionString: m.connection}, hubName, messaging.Options{
		Retries: faultRetries, RetryDelay: time.Millisecond, MaxRetryDelay: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, "producer", p.Close)
	return p
}

// faultRetries is how often the adapters repeat an operation here.
const faultRetries = 2
