package backendclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The headers that say on whose behalf a call is made.
const (
	headerTransaction = "Transaction-Id"
	headerOperation   = "Operation-Id"
	headerRevision    = "Revision"
)

// Config are the settings.
type Config struct {
	// Backends are the base URLs by the name of the backend, such as
	// "http://127.0.0.1:7071/api".
	Backends map[string]string
	// Header is added to every call, such as a function key. May be nil.
	Header http.Header
	// Token returns the bearer token of a call. It goes over https, or to this
	// machine, only. Nil means that calls carry none.
	Token func(context.Context) (string, error)
	// CallTimeout bounds an attempt without a time-out of its own, up to the last
	// byte of the answer. 0 means 2 s.
	CallTimeout time.Duration
	// MaxAnswer is the largest answer that is read, in bytes. 0 means 64 KiB.
	MaxAnswer int64
	// Concurrency is how many calls to one backend a Guard lets through at a
	// time: as many connections are kept open. 0 means 256.
	Concurrency int
	Metrics     *telemetry.Metrics // nil measures nothing
}

// Client calls the backends, without any limit of its own; see Guard. It is safe
// for concurrent use.
type Client struct {
	cfg      Config
	backends map[string]backend // by name; fixed
	http     *http.Client
	now      func() time.Time
}

// New returns a client. The error says what is wrong with the settings.
func New(cfg Config, now func() time.Time) (*Client, error) {
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 2*time.Second)
	cfg.MaxAnswer = cmp.Or(cfg.MaxAnswer, 64<<10)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 256)
	cfg.Metrics = cmp.Or(cfg.Metrics, telemetry.NoMetrics())
	if cfg.CallTimeout < 0 || cfg.MaxAnswer < 0 || cfg.Concurrency < 0 {
		return nil, errors.New("backend client: settings must not be negative")
	}
	c := &Client{cfg: cfg, now: now, backends: make(map[string]backend, len(cfg.Backends))}
	for name, base := range cfg.Backends {
		u, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", name, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("backend %s: %q is not a base URL", name, base)
		}
		if cfg.Token != nil && !auth.SafeAddress(u) {
			return nil, fmt.Errorf("backend %s: anyone on the way to %q could read the token; use https", name, base)
		}
		c.backends[name] = backendAt(strings.TrimRight(base, "/"), u)
	}
	// The app's own backends are at one host.
	c.http = auth.NewClient(cfg.CallTimeout, cfg.Concurrency*max(1, len(cfg.Backends)))
	return c, nil
}

// Close closes the idle connections. Calls under way are not disturbed.
func (c *Client) Close() { c.http.CloseIdleConnections() }

var _ engine.Backends = (*Client)(nil)

// Do makes one attempt. It always returns a verdict: an end of ctx is one, too. Here
// is the only place where a call's time-out is applied.
func (c *Client) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	b, ok := c.backends[a.Call.Backend]
	if !ok {
		return notSent(codeNotSent, fmt.Errorf("backend %q has no address", a.Call.Backend))
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(a.Timeout, c.cfg.CallTimeout))
	defer cancel()
	o := c.call(bounded, b.base, a)
	c.called(ctx, a.Call.Method, b, began, o)
	return o
}

func (c *Client) call(ctx context.Context, base string, r engine.Attempt) workflow.Outcome {
	token, err := c.token(ctx)
	if err != nil {
		return notSent(codeToken, err)
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req, err := c.request(httptrace.WithClientTrace(ctx, trace), base, r)
	if err != nil {
		return notSent(codeNotSent, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if !connected.Load() {
			return notSent(codeOf(err, codeNotSent), err)
		}
		return unknown(0, codeOf(err, codeBroken), err)
	}
	body, err := c.read(res)
	return classify(answer{status: res.StatusCode, header: res.Header, body: body, err: err}, c.now())
}

// token returns the bearer token of a call, "" if calls carry none.
func (c *Client) token(ctx context.Context) (string, error) {
	if c.cfg.Token == nil {
		return "", nil
	}
	return c.cfg.Token(ctx)
}

func (c *Client) request(ctx context.Context, base string, r engine.Attempt) (*http.Request, error) {
	var body io.Reader
	if r.Call.Body != nil {
		body = bytes.NewReader(r.Call.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Call.Method, base+"/"+r.Call.Path, body)
	if err != nil {
		return nil, fmt.Errorf("build call to %s: %w", r.Call.Backend, err)
	}
	for name, values := range c.cfg.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(headerTransaction, r.TransactionID)
	if r.Revision > 0 {
		req.Header.Set(headerRevision, strconv.Itoa(r.Revision))
	}
	if r.OperationID != "" {
		req.Header.Set(headerOperation, r.OperationID)
	}
	telemetry.ToHeader(ctx, req.Header)
	return req, nil
}

// errTooLarge is returned for an answer over the limit.
var errTooLarge = errors.New("the answer is too large")

// read returns the body of an answer, and leaves the connection reusable if
// there is not much more.
func (c *Client) read(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, c.cfg.MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if int64(len(body)) <= c.cfg.MaxAnswer {
		return body, nil
	}
	if _, err := io.CopyN(io.Discard, res.Body, c.cfg.MaxAnswer); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(errTooLarge, err)
	}
	return nil, errTooLarge
}
