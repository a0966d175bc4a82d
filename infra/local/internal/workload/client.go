package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Client speaks the public API as a good client does: it repeats what was not
// answered, or not for good, under the same id or key, and never sends twice
// what it can't repeat safely. It is safe for concurrent use. Close must be
// called.
type Client struct {
	bases    []string
	calls    atomic.Uint64 // which take the bases in turn
	requests string
	token    func(caller string) string
	http     *http.Client
	seen     func(Exchange)
}

// ClientOptions say how to talk to the service.
type ClientOptions struct {
	URL         string        // such as http://127.0.0.1:7071
	Others      []string      // further fronts of the same app, which have their turns
	Resource    string        // the business's, such as deliveryrequests
	Connections int           // open at once, at most
	Timeout     time.Duration // of one exchange; 0 means 30 s
	// Token returns the token of a caller, whom As names; nil where nobody wants one.
	// It is safe for concurrent use.
	Token func(caller string) string
	// Seen is told of every exchange, from many goroutines at once; nil for
	// nobody.
	Seen func(Exchange)
}

// Exchange is one request with its answer, or without one.
type Exchange struct {
	Method string
	Status int // 0 if there was no answer
	Took   time.Duration
	// Unsure is true for the answer that the request may have been taken: the hub
	// has not acknowledged it in time.
	Unsure bool
}

// NewClient returns a client.
func NewClient(o ClientOptions) *Client {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Seen == nil {
		o.Seen = func(Exchange) {}
	}
	return &Client{bases: append([]string{o.URL}, o.Others...), requests: "/api/" + o.Resource, token: o.Token, seen: o.Seen, http: &http.Client{
		Timeout:   o.Timeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: o.Connections, MaxConnsPerHost: o.Connections},
	}}
}

// callerKey is the context's key of who calls.
type callerKey struct{}

// As returns a context whose calls are made by a caller.
func As(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Receipt is the body of a 202.
type Receipt struct {
	TransactionID string `json:"transactionId"`
	OperationID   string `json:"operationId"`
}

// View is what a client needs to know of a transaction.
type View struct {
	ID         string      `json:"id"`
	State      string      `json:"state"`
	Reason     string      `json:"reason"`
	EndedAt    time.Time   `json:"endedAt"`
	Operations []Operation `json:"operations"`
}

// Operation is what a client needs to know of an operation.
type Operation struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// Refusal is an answer that took nothing on, or says that it may have.
type Refusal struct {
	Status     int           `json:"-"`
	RetryAfter time.Duration `json:"-"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	// TransactionID is set by a 503 for a request that may have been taken: the
	// id under which it is to be repeated.
	TransactionID string `json:"transactionId"`
	// problem is true if the answer is the app's own, a problem document.
	problem bool
}

func (r *Refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Title, r.Detail) }

// ErrUnanswered is in the chain of the error for a request that may have been
// taken and can't be repeated, since it has neither an id nor a key.
var ErrUnanswered = errors.New("no answer tells whether the request was taken")

// Submit sends a request and repeats it until it is answered for good or ctx
// ends. A request without an id and a key is repeated as a new one only when
// the one before was surely not taken; when the service names the id that it
// may have been taken under, it is repeated under that.
func (c *Client) Submit(ctx context.Context, it Item) (Receipt, error) {
	var r Receipt
	if it.ID != "" {
		return r, c.repeat(ctx, http.MethodPut, c.transaction(it.ID), "", it.Body, &r)
	}
	if it.Key != "" {
		return r, c.repeat(ctx, http.MethodPost, c.requests, it.Key, it.Body, &r)
	}
	for try := 1; ; try++ {
		err := c.do(ctx, http.MethodPost, c.requests, "", it.Body, &r)
		var refused *Refusal
		switch {
		case err == nil || ctx.Err() != nil:
			return r, err
		case errors.As(err, &refused) && refused.TransactionID != "":
			return r, c.repeat(ctx, http.MethodPut, c.transaction(refused.TransactionID), "", it.Body, &r)
		case !again(err):
			return r, err
		case !notTaken(err):
			return r, fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		if err := pause(ctx, try, err); err != nil {
			return r, err
		}
	}
}

// Cancel asks for the transaction to be cancelled. key is the Idempotency-Key.
func (c *Client) Cancel(ctx context.Context, id, key string) (Receipt, error) {
	var r Receipt
	return r, c.repeat(ctx, http.MethodDelete, c.transaction(id), key, nil, &r)
}

// CancelOnce asks for the transaction to be cancelled, without a key: it can't be
// repeated, and is not. ErrUnanswered is in the chain of the error if nobody can
// tell whether it was taken.
func (c *Client) CancelOnce(ctx context.Context, id string) (Receipt, error) {
	var r Receipt
	err := c.do(ctx, http.MethodDelete, c.transaction(id), "", nil, &r)
	if err != nil && again(err) {
		err = fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return r, err
}

// Reschedule asks for the transaction to be changed. key is the
// Idempotency-Key.
func (c *Client) Reschedule(ctx context.Context, id, key string, change json.RawMessage) (Receipt, error) {
	var r Receipt
	return r, c.repeat(ctx, http.MethodPatch, c.transaction(id), key, change, &r)
}

// Progress reads the transaction.
func (c *Client) Progress(ctx context.Context, id string) (View, error) {
	var v View
	return v, c.repeat(ctx, http.MethodGet, c.transaction(id), "", nil, &v)
}

// Operation reads an operation of a transaction, which may be kept outside of it.
func (c *Client) Operation(ctx context.Context, transactionID, id string) (Operation, error) {
	var o Operation
	return o, c.repeat(ctx, http.MethodGet, c.transaction(transactionID)+"/operations/"+url.PathEscape(id), "", nil, &o)
}

func (c *Client) transaction(id string) string { return c.requests + "/" + url.PathEscape(id) }

// repeat makes a call that is safe to repeat, since it has an id or a key of
// its own or changes nothing, until it is answered for good.
func (c *Client) repeat(ctx context.Context, method, path, key string, body, answer any) error {
	for try := 1; ; try++ {
		err := c.do(ctx, method, path, key, body, answer)
		if err == nil || ctx.Err() != nil || !again(err) {
			return err
		}
		if err := pause(ctx, try, err); err != nil {
			return err
		}
	}
}

// again reports whether an error is none for good.
func again(err error) bool {
	s := Status(err)
	return s == 0 || s >= 500 || s == http.StatusTooManyRequests || s == http.StatusRequestTimeout
}

// notTaken reports whether an error that is none for good tells that the
// service has not taken the request: it was too busy, said so itself, or was
// not reached.
func notTaken(err error) bool {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable && r.problem
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// The time between two tries, unless the service asks for a longer one: it
// grows, and is spread so that the clients don't come back all at once.
const (
	shortestPause = 200 * time.Millisecond
	longestPause  = time.Second
)

// pause waits after the nth try, which ended with err. It fails when ctx ends.
func pause(ctx context.Context, try int, err error) error {
	wait := min(longestPause, shortestPause*time.Duration(try))
	wait = wait/2 + rand.N(wait)
	var r *Refusal
	if errors.As(err, &r) {
		wait = max(wait, r.RetryAfter)
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), err)
	}
}

// do makes one call and reads a 2xx into answer.
func (c *Client) do(ctx context.Context, method, path, key string, body, answer any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.bases[c.calls.Add(1)%uint64(len(c.bases))]+path, content)
	if err != nil {
		return err
	}
	if c.token != nil {
		caller, _ := ctx.Value(callerKey{}).(string)
		req.Header.Set("Authorization", "Bearer "+c.token(caller))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	begun := time.Now()
	status, err := c.exchange(req, answer)
	var refused *Refusal
	unsure := errors.As(err, &refused) && status == http.StatusServiceUnavailable && refused.TransactionID != ""
	c.seen(Exchange{Method: method, Status: status, Took: time.Since(begun), Unsure: unsure})
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// exchange sends the request and reads its answer. The status is 0 if the
// answer did not arrive whole.
func (c *Client) exchange(req *http.Request, answer any) (status int, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, refusal(resp, data)
	}
	if answer == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return resp.StatusCode, fmt.Errorf("answer %q: %w", data, err)
	}
	return resp.StatusCode, nil
}

func refusal(resp *http.Response, data []byte) *Refusal {
	r := &Refusal{}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(data, r) == nil {
		r.problem = true
	} else {
		r.Detail = strings.TrimSpace(string(data))
	}
	r.Status, r.RetryAfter = resp.StatusCode, retryAfter(resp)
	return r
}

// retryAfter reads the header; 0 if there is none.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// Status returns the HTTP status of a refusal in err's chain, 0 if there is none.
func Status(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}
