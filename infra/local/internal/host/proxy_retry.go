package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// The host's tries of a proxied request: the waits between them double from 50
// to 250 ms.
const (
	proxyTries   = 10
	proxyWaitMin = 50 * time.Millisecond
	proxyWaitMax = 250 * time.Millisecond
)

// retryBroken is the transport of proxied requests. The real host repeats a
// request on any failure of the transport, under the same invocation id,
// although the handler may have done all of it before it died. A request of
// whose body something was sent can't be repeated: the real host tries in vain,
// so its client waits as long for the failure (azure-functions-host 4.1037,
// DefaultHttpProxyService and RetryProxyHandler, run with a handler that dies).
type retryBroken struct {
	host *Host
}

func (t *retryBroken) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &untouched{ReadCloser: r.Body}
	if x := proxiedOf(r); x != nil {
		body.small = x.small
	}
	resp, err := t.send(r, body)
	if err == nil {
		return resp, nil
	}
	return t.repeat(r, body, err)
}

// repeat goes on after the first try, which has failed.
func (t *retryBroken) repeat(r *http.Request, body *untouched, broken error) (*http.Response, error) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(t.host.listening, stop)() // a host that stops tries no more
	reached := false
	for try, wait := 1, proxyWaitMin; ; try, wait = try+1, min(2*wait, proxyWaitMax) {
		if try > 1 && !body.sent(broken) {
			resp, err := t.send(r, body) // with its own context, which its answer keeps
			if err == nil {
				return resp, nil
			}
			broken = err
		}
		if client := new(brokenBodyError); errors.As(broken, &client) || try == proxyTries || !sleep(ctx, wait) {
			return nil, broken
		}
		if body.sent(broken) {
			continue
		}
		if err := t.host.awaitHandler(ctx); err != nil {
			return nil, errors.Join(broken, err)
		}
		if !reached && !unreached(broken) {
			reached = true
			t.host.cfg.Logger.Info(Repeated, "request", r.Method+" "+r.URL.Path, "error", broken)
		}
	}
}

// Repeated is the line of the log for a request that is sent a second time
// although the handler may have done what it asks for.
const Repeated = "the request is sent again: the handler has broken it off"

// unreached reports whether the handler can't have seen the request: it could not
// be connected to.
func unreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func (t *retryBroken) send(r *http.Request, body *untouched) (*http.Response, error) {
	out := *r
	switch {
	case body.small != nil:
		out.Body = io.NopCloser(bytes.NewReader(body.small))
	case r.Body != nil && r.Body != http.NoBody:
		out.Body = body
		return t.host.client.Transport.RoundTrip(&out)
	}
	if !fits(&out) {
		return t.host.client.Transport.RoundTrip(&out)
	}
	return t.host.wire.exchange(&out, t.host.sup.PID())
}

// untouched notes whether a body was read and keeps it open: the transport
// closes it after a failure, but the next try needs it. The reverse proxy
// closes it in the end.
type untouched struct {
	io.ReadCloser
	read  atomic.Bool
	small []byte // all of it, in the place of the reader; nil if it is not small
}

// sent reports whether the handler may have some of the body after a failure.
func (u *untouched) sent(broken error) bool {
	return u.read.Load() || u.small != nil && !unreached(broken)
}

func (u *untouched) Read(p []byte) (int, error) {
	u.read.Store(true)
	return u.ReadCloser.Read(p)
}

func (u *untouched) Close() error { return nil }
