package amqp_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; none is expected to take as long.
const patience = 2 * time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// fakeService is a Service of functions. What is not set answers not-found.
type fakeService struct {
	putToken   func(context.Context, amqp.Token) error
	openSink   func(context.Context, amqp.Attach) (amqp.Sink, amqp.LinkOptions, error)
	openSource func(context.Context, amqp.Attach, amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error)
	request    func(context.Context, amqp.Request) (amqp.Response, error)
}

func (s *fakeService) PutToken(ctx context.Context, t amqp.Token) error {
	if s.putToken == nil {
		return nil
	}
	return s.putToken(ctx, t)
}

func (s *fakeService) SignIn(_ context.Context, name, password string) error {
	if name != "key" || password != "secret" {
		return amqp.Errorf(amqp.CondUnauthorizedAccess, "wrong key")
	}
	return nil
}

func (s *fakeService) OpenSink(ctx context.Context, a amqp.Attach) (amqp.Sink, amqp.LinkOptions, error) {
	if s.openSink == nil {
		return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotFound, "no entity %q", a.Address)
	}
	return s.openSink(ctx, a)
}

func (s *fakeService) OpenSource(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	if s.openSource == nil {
		return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotFound, "no entity %q", a.Address)
	}
	return s.openSource(ctx, a, out)
}

func (s *fakeService) Request(ctx context.Context, r amqp.Request) (amqp.Response, error) {
	if s.request == nil {
		return amqp.Response{}, amqp.Errorf(amqp.CondNotImplemented, "no operations")
	}
	return s.request(ctx, r)
}

// fakeSink passes transfers to onTransfer; without it, it records and accepts.
type fakeSink struct {
	onTransfer func(amqp.Transfer, func(error))

	mu        sync.Mutex
	transfers []amqp.Transfer
	closed    chan struct{}
	closes    int
}

func newSink() *fakeSink { return &fakeSink{closed: make(chan struct{})} }

func (s *fakeSink) Transfer(t amqp.Transfer, done func(error)) {
	if s.onTransfer != nil {
		s.onTransfer(t, done)
		return
	}
	s.mu.Lock()
	s.transfers = append(s.transfers, t)
	s.mu.Unlock()
	done(nil)
}

func (s *fakeSink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closes++; s.closes == 1 {
		close(s.closed)
	}
}

func (s *fakeSink) received() []amqp.Transfer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]amqp.Transfer(nil), s.transfers...)
}

func (s *fakeSink) open(context.Context, amqp.Attach) (amqp.Sink, amqp.LinkOptions, error) {
	return s, amqp.LinkOptions{MaxMessageSize: 1 << 20}, nil
}

// settlement is what a fakeSource was told.
type settlement struct {
	tag     string
	outcome amqp.Outcome
}

// fakeSource sends what is queued as credit allows and records settlements.
type fakeSource struct {
	settled  bool
	onSettle func(amqp.Outcome) error

	mu      sync.Mutex
	out     amqp.Outgoing
	queue   []amqp.Delivery
	settles []settlement
	credits []uint32
	attach  amqp.Attach
	changed chan struct{}
	closed  chan struct{}
	closes  int
}

func newSource(deliveries ...amqp.Delivery) *fakeSource {
	return &fakeSource{queue: deliveries, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (s *fakeSource) open(_ context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out, s.attach = out, a
	return s, amqp.LinkOptions{Settled: s.settled}, nil
}

func (s *fakeSource) push(d ...amqp.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, d...)
	s.pump()
}

func (s *fakeSource) pump() {
	for len(s.queue) > 0 && s.out != nil && s.out.Send(s.queue[0]) {
		s.queue = s.queue[1:]
	}
}

func (s *fakeSource) Credit(n uint32, emptied func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credits = append(s.credits, n)
	s.pump()
	s.notify()
	if emptied != nil {
		emptied()
	}
}

func (s *fakeSource) Settle(tag []byte, outcome amqp.Outcome, done func(error)) {
	s.mu.Lock()
	s.settles = append(s.settles, settlement{tag: string(tag), outcome: outcome})
	s.notify()
	s.mu.Unlock()
	var err error
	if s.onSettle != nil {
		err = s.onSettle(outcome)
	}
	done(err)
}

func (s *fakeSource) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closes++; s.closes == 1 {
		close(s.closed)
	}
}

func (s *fakeSource) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// await waits until what it was told fulfils a condition.
func (s *fakeSource) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		ok := condition()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("never happened: %s", what)
	}
}

// serve starts a Server on a free port and returns its address.
func serve(t *testing.T, service amqp.Service, options amqp.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := amqp.NewServer(service, options)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; !errors.Is(err, amqp.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string) *goamqp.Conn {
	t.Helper()
	conn, err := goamqp.Dial(testContext(t), "amqp://"+address, &goamqp.ConnOptions{SASLType: goamqp.SASLTypeAnonymous()})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it may have been closed before
	return conn
}

func newSession(t *testing.T, conn *goamqp.Conn) *goamqp.Session {
	t.Helper()
	session, err := conn.NewSession(testContext(t), nil)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return session
}

// session starts a Server and a session with it.
func session(t *testing.T, service amqp.Service, options amqp.Options) *goamqp.Session {
	t.Helper()
	return newSession(t, dial(t, serve(t, service, options)))
}

func encode(t *testing.T, m *goamqp.Message) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}
