package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/process"
)

// errFrontEnd is an exchange that the front end has cut.
var errFrontEnd = errors.New("no byte within the front end's time limit")

// A proxy forwards the requests of one function to the handler as they are,
// streaming in both directions (enableProxyingHttpRequest).
type proxy struct {
	host    *Host
	fn      *config.Function
	reverse *httputil.ReverseProxy
}

func (h *Host) newProxy(f *config.Function) *proxy {
	target, err := url.Parse(h.url)
	if err != nil {
		panic("host: own handler URL " + h.url) // made of a number by prepareHandler
	}
	p := &proxy{host: h, fn: f}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { rewrite(r, target) },
		Transport:      &retryBroken{host: h},
		ModifyResponse: watchResponse,
		ErrorHandler:   p.failed,
		BufferPool:     &buffers{},
		ErrorLog:       slog.NewLogLogger(h.cfg.Logger.Handler(), slog.LevelDebug),
	}
	return p
}

// The headers by which a handler knows an invocation.
const (
	headerInvocation   = "X-Azure-Functions-InvocationId"
	headerInvocationMS = "x-ms-invocation-id"
	headerHostVersion  = "X-Azure-Functions-HostVersion"
)

// rewrite makes the request that the handler gets as YARP does: to the handler's
// own address, with the forwarding headers overwritten and those of one name
// joined. Path and query stay.
func rewrite(r *httputil.ProxyRequest, target *url.URL) {
	r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = target.Host
	r.SetXForwarded()
	for name, values := range r.Out.Header {
		if len(values) > 1 {
			r.Out.Header[name] = []string{strings.Join(values, ", ")}
		}
	}
	id := r.In.Header.Get(headerInvocation)
	r.Out.Header.Set(headerInvocationMS, id)
	r.Out.Header.Set(headerHostVersion, Version)
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if err := p.host.awaitHandler(ctx); err != nil {
		p.failed(w, r, fmt.Errorf("wait for the handler: %w", err))
		return
	}
	x := &proxied{limit: p.host.cfg.FrontEndTimeout}
	x.timer = time.AfterFunc(x.limit, func() {
		cancel(errFrontEnd)
		// What reads from the client waits no longer either. An answer that is held
		// back can't do that; its client sends at once.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	})
	defer x.timer.Stop()
	id := uuid.NewString()
	r.Header.Set(headerInvocation, id)
	defer p.host.limit(p.fn, id)()
	r = r.WithContext(context.WithValue(ctx, proxiedKey{}, x))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &requestBody{watchedBody{r.Body, x}}
	}
	if err := x.readSmall(r); err != nil {
		p.failed(w, r, err)
		return
	}
	p.reverse.ServeHTTP(w, r)
}

// failed answers for a handler that didn't. A client that has left gets no
// answer, rather than the empty success that a server makes of none.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	cause := context.Cause(r.Context())
	var tooLarge *http.MaxBytesError
	var broken *brokenBodyError
	switch {
	case errors.As(err, &tooLarge):
		w.WriteHeader(http.StatusInternalServerError)
		p.host.cfg.Logger.Warn("the request body is too large", "function", p.fn.Name, "limit", tooLarge.Limit)
		return
	case errors.Is(cause, errFrontEnd):
		fail(w, http.StatusGatewayTimeout, "the function did not answer within the front end's limit of "+p.host.cfg.FrontEndTimeout.String())
		err = cause
	case errors.As(err, &broken):
		w.WriteHeader(http.StatusInternalServerError)
		p.host.cfg.Logger.Debug("the request body broke off", "function", p.fn.Name, "error", err)
		return
	case cause != nil:
		p.host.cfg.Logger.Debug("the client left", "function", p.fn.Name)
		panic(http.ErrAbortHandler)
	case errors.Is(err, process.ErrStopped):
		fail(w, http.StatusServiceUnavailable, "the host is stopping")
	default:
		fail(w, http.StatusInternalServerError, "the handler did not answer")
	}
	p.host.cfg.Logger.Error(fmt.Sprintf("Executed 'Functions.%s' (Failed)", p.fn.Name), "method", r.Method, "path", r.URL.Path, "error", err)
}

// proxied is an exchange under way. Its timer cuts it when nothing moves.
type proxied struct {
	limit time.Duration
	timer *time.Timer
	small []byte // the request's body, if that is a small one
}

type proxiedKey struct{}

func proxiedOf(r *http.Request) *proxied {
	x, _ := r.Context().Value(proxiedKey{}).(*proxied)
	return x
}

// smallBody is how long a request's body may be, in bytes, to be read before the
// request is passed on: the transport then writes it together with the header, and
// the handler reads both at once. The real host passes on what it has.
const smallBody = 4 << 10

func (x *proxied) readSmall(r *http.Request) error {
	if r.ContentLength < 1 || r.ContentLength > smallBody {
		return nil
	}
	x.small = make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, x.small)
	return err
}

func watchResponse(resp *http.Response) error {
	if x := proxiedOf(resp.Request); x != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		x.timer.Reset(x.limit)
		resp.Body = &watchedBody{resp.Body, x}
	}
	return nil
}

// watchedBody resets the exchange's timer with every read.
type watchedBody struct {
	io.ReadCloser
	of *proxied
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.of.timer.Reset(b.of.limit)
	}
	return n, err
}

// brokenBodyError is a request body that the client did not send to its end.
type brokenBodyError struct{ err error }

func (e *brokenBodyError) Error() string { return "read the request body: " + e.err.Error() }

func (e *brokenBodyError) Unwrap() error { return e.err }

// requestBody tells what went wrong with the client from what went wrong with
// the handler.
type requestBody struct{ watchedBody }

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.watchedBody.Read(p)
	if err != nil && err != io.EOF {
		err = &brokenBodyError{err}
	}
	return n, err
}

// buffers lends copy buffers to the reverse proxies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
