package amqp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// rawPeer is a client that speaks frames, for what go-amqp never does.
type rawPeer struct {
	t       *testing.T
	conn    net.Conn
	frames  *frameReader
	scratch scratch
	server  *Server // of rawServe
}

// discardService takes every link and drops what is sent.
type discardService struct{}

func (discardService) PutToken(context.Context, Token) error { return nil }

func (discardService) SignIn(context.Context, string, string) error { return nil }

func (discardService) OpenSink(context.Context, Attach) (Sink, LinkOptions, error) {
	return discardSink{}, LinkOptions{MaxMessageSize: 1 << 20}, nil
}

func (discardService) OpenSource(context.Context, Attach, Outgoing) (Source, LinkOptions, error) {
	return discardSource{}, LinkOptions{}, nil
}

func (discardService) Request(context.Context, Request) (Response, error) {
	return Response{Status: 200}, nil
}

type discardSink struct{}

func (discardSink) Transfer(_ Transfer, done func(error)) { done(nil) }
func (discardSink) Close()                                {}

type discardSource struct{}

func (discardSource) Credit(_ uint32, emptied func()) {
	if emptied != nil {
		emptied()
	}
}
func (discardSource) Settle(_ []byte, _ Outcome, f func(error)) { f(nil) }
func (discardSource) Close()                                    {}

func rawServe(t *testing.T, service Service, options Options) *rawPeer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(service, options)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
	p := rawDial(t, l.Addr().String())
	p.server = server
	return p
}

func rawDial(t *testing.T, address string) *rawPeer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &rawPeer{t: t, conn: conn, frames: newFrameReader(conn, 1<<20)}
}

func (p *rawPeer) write(parts ...[]byte) {
	p.t.Helper()
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	if _, err := p.conn.Write(all); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// encoded is a frame of a performative and a payload.
func encoded(t *testing.T, kind byte, channel uint16, p performative, payload ...byte) []byte {
	t.Helper()
	b, err := appendFrame(nil, kind, channel, p)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, payload...)
	setFrameSize(b, 0)
	return b
}

func (p *rawPeer) send(list ...performative) {
	p.t.Helper()
	for _, v := range list {
		p.write(encoded(p.t, frameAMQP, 0, v))
	}
}

func (p *rawPeer) expectHeader(want protocolHeader) {
	p.t.Helper()
	if got, err := p.frames.header(); err != nil || got != want {
		p.t.Fatalf("header %q, %v", got[:], err)
	}
}

// next returns the next performative, passing over empty frames.
func (p *rawPeer) next() performative {
	p.t.Helper()
	for {
		f, err := p.frames.next()
		if err != nil {
			p.t.Fatalf("read frame: %v", err)
		}
		if len(f.body) == 0 {
			continue
		}
		v, _, err := p.scratch.decode(f.body)
		if err != nil {
			p.t.Fatalf("decode frame: %v", err)
		}
		return v
	}
}

func expect[T performative](p *rawPeer) T {
	p.t.Helper()
	v := p.next()
	want, ok := v.(T)
	if !ok {
		p.t.Fatalf("got %s %+v, want %T", name(v), v, want)
	}
	return want
}

func (p *rawPeer) expectEOF() {
	p.t.Helper()
	if f, err := p.frames.next(); !errors.Is(err, io.EOF) {
		p.t.Fatalf("got frame %v, error %v, want the end", f, err)
	}
}

func openRequest() *openFrame {
	return &openFrame{containerID: "raw", hostname: "host", maxFrameSize: 65536, channelMax: 10}
}

func beginRequest() *beginFrame {
	return &beginFrame{incomingWindow: 100, outgoingWindow: 100, handleMax: 10}
}

func attachRequest(handle uint32, r role) *attachFrame {
	return &attachFrame{
		name:          string(rune('a' + handle)),
		handle:        handle,
		role:          r,
		sndSettleMode: sndMixed,
		source:        &terminus{address: "orders"},
		target:        &terminus{address: "orders"},
	}
}

// begun is a peer with one session on channel 0.
func begun(t *testing.T, service Service, options Options) *rawPeer {
	t.Helper()
	p := rawServe(t, service, options)
	p.write(headerAMQP[:])
	p.expectHeader(headerAMQP)
	p.send(openRequest(), beginRequest())
	expect[*openFrame](p)
	expect[*beginFrame](p)
	return p
}

// attached is a peer with one link, of handle 0.
func attached(t *testing.T, r role, service Service, options Options) *rawPeer {
	t.Helper()
	p := begun(t, service, options)
	p.send(attachRequest(0, r))
	expect[*attachFrame](p)
	if r == roleSender {
		expect[*flowFrame](p)
	}
	return p
}

// smallService takes messages of 100 000 bytes at most.
type smallService struct{ discardService }

func (smallService) OpenSink(context.Context, Attach) (Sink, LinkOptions, error) {
	return discardSink{}, LinkOptions{MaxMessageSize: 100_000}, nil
}

// stuckService gives a credit of 2 and never finishes a message.
type stuckService struct{ discardService }

func (stuckService) OpenSink(context.Context, Attach) (Sink, LinkOptions, error) {
	return stuckSink{}, LinkOptions{MaxMessageSize: 100_000, Credit: 2}, nil
}

type stuckSink struct{ discardSink }

func (stuckSink) Transfer(Transfer, func(error)) {}

// holdingService finishes messages when it is told to.
type holdingService struct {
	discardService
	mu      sync.Mutex
	held    []func(error)
	arrived chan struct{} // told of each message unless nil
}

func (s *holdingService) OpenSink(context.Context, Attach) (Sink, LinkOptions, error) {
	return s, LinkOptions{MaxMessageSize: 100_000}, nil
}

func (s *holdingService) Transfer(_ Transfer, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, done)
	if s.arrived != nil {
		s.arrived <- struct{}{}
	}
}

func (s *holdingService) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, done := range s.held {
		done(nil)
	}
	s.held = nil
}

func (s *holdingService) Close() {}
