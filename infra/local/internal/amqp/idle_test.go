package amqp

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of in-memory connections.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// idlePeer opens a connection over a pipe, in a bubble of fake time.
func idlePeer(t *testing.T, options Options, idle time.Duration) *rawPeer {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := NewServer(discardService{}, options)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
	ours, theirs := net.Pipe()
	l.conns <- theirs
	p := &rawPeer{t: t, conn: ours, frames: newFrameReader(ours, 65536)}
	t.Cleanup(func() { _ = ours.Close() })
	p.write(headerAMQP[:])
	p.expectHeader(headerAMQP)
	open := openRequest()
	open.idleTimeout = idle
	p.send(open)
	expect[*openFrame](p)
	return p
}

func TestEmptyFramesKeepThePeerAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idlePeer(t, Options{IdleTimeout: time.Hour}, 30*time.Second)
		start := time.Now()
		for i := range 4 {
			f, err := p.frames.next()
			if err != nil || len(f.body) != 0 {
				t.Fatalf("frame %v, %v", f, err)
			}
			if got, want := time.Since(start), time.Duration(i+1)*15*time.Second; got != want {
				t.Errorf("empty frame %d after %v, want %v", i, got, want)
			}
		}
	})
}

func TestSilentPeerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idlePeer(t, Options{IdleTimeout: 30 * time.Second}, 0)
		start := time.Now()
		// Empty frames are enough to stay.
		for range 3 {
			<-time.After(50 * time.Second) // of fake time
			p.write(emptyFrame)
		}
		if got := expect[*closeFrame](p).err; got == nil || got.Condition != CondConnectionForced {
			t.Errorf("closed with %v", got)
		}
		if got, want := time.Since(start), (150+60)*time.Second; got != want {
			t.Errorf("closed after %v, want %v", got, want)
		}
		p.expectEOF()
	})
}

func TestSlowHandshakeIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := NewServer(discardService{}, Options{HandshakeTimeout: 5 * time.Second})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		start := time.Now()
		if _, err := ours.Read(make([]byte, 1)); err == nil || time.Since(start) != 5*time.Second {
			t.Errorf("read %v after %v", err, time.Since(start))
		}
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
}
