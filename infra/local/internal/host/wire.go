package host

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

// A wire is a transport to the handler for requests that are at hand as a whole. It writes one
// and reads its answer in the caller's goroutine; http.Transport has two more for each connection,
// so that a large body can be sent while its answer comes, and a request waits for
// a processor four times. It is safe for concurrent use.
type wire struct {
	address string
	dialer  net.Dialer

	mu     sync.Mutex
	idle   []*wireConn // the one that was used last is the last
	pruner *time.Timer // runs while there are idle ones; nil otherwise
	closed bool
}

// wireIdle is how long a connection is kept that nobody uses: handlers in other languages
// close theirs after 5 s (Node.js), and what is sent just then is lost.
const wireIdle = 2 * time.Second

// wireConn is a connection. generation is the process of the handler that it leads to.
type wireConn struct {
	net.Conn
	r          *bufio.Reader
	w          *bufio.Writer
	generation int
	since      time.Time // when it was put aside
}

func newWire(address string) *wire {
	return &wire{address: address, dialer: net.Dialer{Timeout: dialTimeout}}
}

// fits reports whether a request can go by a wire.
func fits(r *http.Request) bool {
	return r.Header.Get("Upgrade") == "" && r.Header.Get("Expect") == ""
}

// exchange sends a request to the process of a generation and returns its answer, whose body
// must be closed. Its errors tell what http.Transport's do.
func (t *wire) exchange(r *http.Request, generation int) (*http.Response, error) {
	ctx := r.Context()
	c, err := t.take(ctx, generation)
	if err != nil {
		return nil, err
	}
	calm := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // a closed one is as good
	resp, err := c.exchange(r)
	if err != nil {
		calm()
		_ = c.Close() // nothing of it is of use
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	body := &wireBody{ReadCloser: resp.Body, wire: t, conn: c, calm: calm, keep: !resp.Close}
	if resp.Body == http.NoBody {
		body.end(true)
		return resp, nil
	}
	resp.Body = body
	return resp, nil
}

func (c *wireConn) exchange(r *http.Request) (*http.Response, error) {
	if err := r.Write(c.w); err != nil {
		return nil, err
	}
	if err := c.w.Flush(); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(c.r, r)
		if err != nil || resp.StatusCode >= http.StatusOK {
			return resp, err
		}
		if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.Got1xxResponse != nil {
			if err := trace.Got1xxResponse(resp.StatusCode, map[string][]string(resp.Header)); err != nil {
				return nil, err
			}
		}
	}
}

// take returns an idle connection to the process of a generation, or a new one.
func (t *wire) take(ctx context.Context, generation int) (*wireConn, error) {
	t.mu.Lock()
	for n := len(t.idle); n > 0; n = len(t.idle) {
		c := t.idle[n-1]
		t.idle = t.idle[:n-1]
		if c.generation == generation {
			t.mu.Unlock()
			return c, nil
		}
		_ = c.Close() // its process is gone
	}
	t.mu.Unlock()
	conn, err := t.dialer.DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, r: bufio.NewReader(conn), w: bufio.NewWriterSize(conn, 2*smallBody), generation: generation}, nil
}

// put sets a connection aside for the next request.
func (t *wire) put(c *wireConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = c.Close()
		return
	}
	c.since = time.Now()
	t.idle = append(t.idle, c)
	if t.pruner == nil {
		t.pruner = time.AfterFunc(wireIdle, t.prune)
	}
}

// prune closes what nobody has used for wireIdle.
func (t *wire) prune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := slices.IndexFunc(t.idle, func(c *wireConn) bool { return time.Since(c.since) < wireIdle })
	if fresh < 0 {
		fresh = len(t.idle)
	}
	for _, c := range t.idle[:fresh] {
		_ = c.Close()
	}
	t.idle = slices.Delete(t.idle, 0, fresh)
	t.pruner = nil
	if len(t.idle) > 0 {
		t.pruner = time.AfterFunc(wireIdle, t.prune)
	}
}

// close closes the idle connections, and the others when they become idle.
func (t *wire) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, c := range t.idle {
		_ = c.Close()
	}
	t.idle = nil
}

// wireBody is an answer's body. It gives its connection back when it was read to its end.
type wireBody struct {
	io.ReadCloser
	wire *wire
	conn *wireConn
	calm func() bool // the caller's end no longer ends the connection; false if it has
	keep bool
}

func (b *wireBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(err == io.EOF)
	}
	return n, err
}

func (b *wireBody) Close() error {
	b.end(false)
	return nil
}

// end is done with the connection. Only the first one counts.
func (b *wireBody) end(whole bool) {
	c := b.conn
	if c == nil {
		return
	}
	b.conn = nil
	if b.calm() && whole && b.keep && c.r.Buffered() == 0 {
		b.wire.put(c)
		return
	}
	_ = c.Close() // what it still brings is for nobody
}
