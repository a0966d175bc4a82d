package amqp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
)

// ErrServerClosed is returned by Serve after Close.
var ErrServerClosed = errors.New("amqp: server closed")

// Server serves a Service over AMQP 1.0. It is safe for concurrent use.
type Server struct {
	service Service
	options Options
	ctx     context.Context
	cancel  context.CancelFunc

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	lastID    uint64
	wg        sync.WaitGroup // one for each Serve and each connection
}

// NewServer returns a Server for a Service. It starts nothing.
func NewServer(service Service, options Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		service:   service,
		options:   options.withDefaults(),
		ctx:       ctx,
		cancel:    cancel,
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
	}
}

// Serve accepts connections from l until Close, and then returns
// ErrServerClosed. It closes l. Any other error is one of l's.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	if !s.addListener(l) {
		return ErrServerClosed
	}
	defer s.removeListener(l)
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.isClosed() {
				return ErrServerClosed
			}
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		if s.refuses() {
			_ = nc.Close() // there is nothing to say to the peer
			continue
		}
		s.start(nc)
	}
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	s.wg.Done()
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// start serves one connection on a goroutine of its own.
func (s *Server) start(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = nc.Close()
		return
	}
	s.lastID++
	c := newConn(s, nc, strconv.FormatUint(s.lastID, 10))
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	})
}

// Close stops accepting, closes every connection with amqp:connection:forced
// and waits for all goroutines, so for Service methods that still run, too.
// Their contexts are done by then. It may be called more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var errs []error
	for l := range s.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("close listener %s: %w", l.Addr(), err))
		}
	}
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.shutdown(Errorf(CondConnectionForced, "the server is shutting down"))
	}
	s.wg.Wait()
	s.cancel()
	return errors.Join(errs...)
}
