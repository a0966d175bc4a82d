package host

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// The host's retries of a proxied request: the waits grow from 50 to 250 ms.
const (
	proxyTries   = 10
	proxyWaitMin = 50 * time.Millisecond
	proxyWaitMax = 250 * time.Millisecond
)

// retryRefused is the transport of proxied requests. It repeats those that
// found the handler's port closed, as it is for a moment after a crash, as
// long as nothing of the body was read.
type retryRefused struct {
	host *Host
}

func (t *retryRefused) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		out := *r
		body := &untouched{ReadCloser: r.Body}
		if r.Body != nil && r.Body != http.NoBody {
			out.Body = body
		}
		resp, err := t.host.client.Transport.RoundTrip(&out)
		if err == nil || try == proxyTries || !errors.Is(err, syscall.ECONNREFUSED) || body.read.Load() {
			return resp, err
		}
		if !sleep(r.Context(), min(time.Duration(try)*proxyWaitMin, proxyWaitMax)) {
			return nil, err
		}
		if werr := t.host.awaitHandler(r.Context()); werr != nil {
			return nil, errors.Join(err, werr)
		}
	}
}

// untouched notes whether a body was read and keeps it open: the transport
// closes it after a failure, but the next try needs it. The reverse proxy
// closes it in the end.
type untouched struct {
	io.ReadCloser
	read atomic.Bool
}

func (u *untouched) Read(p []byte) (int, error) {
	u.read.Store(true)
	return u.ReadCloser.Read(p)
}

func (u *untouched) Close() error { return nil }
