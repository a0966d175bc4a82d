package amqp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// conn is one connection. Its serve goroutine reads, a second one writes; each
// request to $management runs on one more. mu guards everything below it and
// all sessions and links; it is never held while the network or the Service is
// called.
type conn struct {
	server  *Server
	options *Options
	net     net.Conn
	log     *slog.Logger
	info    ConnInfo
	ctx     context.Context
	cancel  context.CancelFunc

	frames  *frameReader // reader only
	scratch scratch      // reader only
	opening *link        // reader only: the link whose attach came last

	answered bool // reader only: it was one request over HTTP

	// Set by the handshake, constant after it.
	peerMaxFrame   int
	peerChannelMax uint16
	peerIdle       time.Duration

	wake     chan struct{} // tells the writer that there is something
	readDone chan struct{} // closed when the reader has ended
	writer   sync.WaitGroup
	wg       sync.WaitGroup // all other goroutines

	mu       sync.Mutex
	room     sync.Cond   // the reader waits for room in out and held
	started  bool        // the handshake is over
	closing  bool        // a close was queued, nothing follows it
	deadline time.Time   // for the rest of a connection that is closing
	failure  error       // why the connection ended, for the log
	out      []byte      // encoded frames for the writer
	ready    fifo[*link] // links with deliveries that may be sent
	dirty    []*session  // sessions with flows or dispositions to be sent
	runnable fifo[*link] // links with events to be delivered
	held     int64       // bytes of received messages that Sinks have
	partial  int64       // bytes of messages that are not complete
	sessions map[uint16]*session
	channels table[session]
	names    map[linkName]*link
	cbs      map[role]*link // the $cbs links by the peer's role
	replies  []*replySource // in the order of their attaches
}

// Limits of what is encoded ahead of the network.
const (
	// writeBatch is how much the writer collects for one write.
	writeBatch = 128 << 10
	// maxOut is how many bytes of answers may wait before the peer is not read
	// any further: a peer that never reads can't make them grow.
	maxOut = 1 << 20
)

func newConn(s *Server, nc net.Conn, id string) *conn {
	c := &conn{
		server:   s,
		options:  &s.options,
		net:      nc,
		log:      s.options.Logger.With("conn", id),
		info:     ConnInfo{ID: id, Remote: nc.RemoteAddr()},
		wake:     make(chan struct{}, 1),
		readDone: make(chan struct{}),
		deadline: time.Now().Add(s.options.HandshakeTimeout),
		sessions: map[uint16]*session{},
		names:    map[linkName]*link{},
		cbs:      map[role]*link{},
	}
	c.room.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.frames = newFrameReader(deadlineReader{c}, s.options.MaxFrameSize)
	return c
}

// serve runs the connection to its end and waits for all it started.
func (c *conn) serve() {
	defer c.wg.Wait()
	defer func() { _ = c.net.Close() }() // the peer may have closed it before
	defer c.cancel()
	if err := c.handshake(); err != nil {
		c.log.Debug("amqp handshake failed", "remote", c.info.Remote, "error", err)
		return
	}
	if c.answered {
		return
	}
	c.log.Debug("amqp connection opened", "remote", c.info.Remote, "container", c.info.ContainerID)
	if c.start() {
		c.readLoop()
	}
	c.finish()
}

// finish ends all sessions and waits for the writer to send what is left.
func (c *conn) finish() {
	c.mu.Lock()
	c.closing = true
	c.setDeadline()
	for _, s := range c.sessions {
		s.drop()
	}
	failure := c.failure
	c.mu.Unlock()
	c.cancel()
	close(c.readDone)
	c.runLinks()
	c.writer.Wait()
	c.log.Debug("amqp connection closed", "error", failure)
}

// start marks the end of the handshake and starts the writer, unless the
// Server was closed meanwhile.
func (c *conn) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.started = true
	c.deadline = time.Time{}
	c.writer.Go(c.writeLoop)
	return true
}

// shutdown closes the connection with an error, from any goroutine.
func (c *conn) shutdown(reason *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started {
		c.closing = true
		c.cancel()
		_ = c.net.Close() // ends the handshake, whose error is logged
		return
	}
	c.cancel()
	c.close(reason)
}

// close queues a close, with an error or nil, after which nothing is sent and
// only the peer's close is awaited.
func (c *conn) close(reason *Error) {
	if c.closing {
		return
	}
	if reason != nil {
		c.failure = reason
	}
	c.send(0, &closeFrame{err: reason})
	c.closing = true
	c.setDeadline()
	c.room.Broadcast()
}

// setDeadline bounds what is left of a closing connection.
func (c *conn) setDeadline() {
	c.deadline = time.Now().Add(c.options.CloseTimeout)
	// A connection on which no deadline can be set is closed already.
	_ = c.net.SetDeadline(c.deadline)
}

// abort ends the connection without a close frame: the network has failed.
func (c *conn) abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(err)
}

// cut is abort for who holds mu.
func (c *conn) cut(err error) {
	if c.failure == nil {
		c.failure = err
	}
	c.closing = true
	c.room.Broadcast()
	_ = c.net.Close() // wakes the reader
}

// send queues a frame. It needs mu.
func (c *conn) send(channel uint16, p performative) {
	if c.closing {
		return
	}
	at := len(c.out)
	b, err := appendFrame(c.out, frameAMQP, channel, p)
	switch {
	case err != nil:
		c.close(Errorf(CondInternalError, "encode %s: %v", name(p), err))
		return
	case len(b)-at > c.peerMaxFrame:
		c.out = b[:at]
		c.close(Errorf(CondFrameSizeTooSmall, "%s needs %d bytes, limit %d", name(p), len(b)-at, c.peerMaxFrame))
		return
	}
	c.out = b
	c.wakeWriter()
}

func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// deadlineReader reads from a connection under its idle time-out, or under the
// fixed deadline of a handshake or a close.
type deadlineReader struct{ c *conn }

func (r deadlineReader) Read(b []byte) (int, error) {
	r.c.mu.Lock()
	deadline := r.c.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(2 * r.c.options.IdleTimeout)
	}
	err := r.c.net.SetReadDeadline(deadline)
	r.c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return r.c.net.Read(b)
}

// readFailed turns the error of a read into the end of the connection.
func (c *conn) readFailed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	protocol, ok := errors.AsType[*Error](err)
	switch {
	case c.closing:
	case ok:
		c.close(protocol)
	case errors.Is(err, os.ErrDeadlineExceeded):
		// A condition that every SDK tries again after.
		c.close(Errorf(CondConnectionForced, "The connection was inactive for more than the allowed %d milliseconds and is closed by container '%s'",
			2*c.options.IdleTimeout.Milliseconds(), c.options.ContainerID))
	case !errors.Is(err, io.EOF):
		c.failure = err
	}
}
