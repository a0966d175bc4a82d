package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// requestTimeout is how long a client waits for an answer.
const requestTimeout = 30 * time.Second

// Client sends requests to one URL. It is safe for concurrent use. Close must be
// called.
type Client struct {
	url    string
	body   func(n int) []byte
	header func(context.Context) (http.Header, error)
	http   *http.Client
}

// NewClient returns a client that posts to a URL the bodies that body returns for
// each number. It keeps so many connections open. header gives what goes with each
// request, such as a token; nil for nothing.
func NewClient(url string, connections int, body func(n int) []byte, header func(context.Context) (http.Header, error)) *Client {
	return &Client{url: url, body: body, header: header, http: &http.Client{
		Timeout:   requestTimeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
		// A redirect could take a token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send posts the nth request. A 503 that names a transaction says that the request
// may have been taken: it has failed.
func (c *Client) Send(ctx context.Context, n int) Answer {
	status, header, body, err := c.do(ctx, http.MethodPost, c.url, c.body(n))
	if err != nil {
		return Answer{Outcome: Failed, Err: err}
	}
	var told struct {
		TransactionID string `json:"transactionId"`
	}
	unread := json.Unmarshal(body, &told)
	switch {
	case status == http.StatusAccepted && unread == nil && told.TransactionID != "":
		return Answer{Outcome: Accepted, ID: told.TransactionID}
	case told.TransactionID == "" && (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) && header.Get("Retry-After") != "":
		return Answer{Outcome: Refused}
	default:
		return Answer{Outcome: Failed, Err: fmt.Errorf("status %d: %s", status, body)}
	}
}

// Status is how far a transaction is.
type Status struct {
	State   string    `json:"state"`
	EndedAt time.Time `json:"endedAt"` // zero while it has not ended
}

// Status returns how far a transaction is that was accepted.
func (c *Client) Status(ctx context.Context, id string) (view Status, err error) {
	status, _, body, err := c.do(ctx, http.MethodGet, c.url+"/"+id, nil)
	if err != nil {
		return view, err
	}
	if status != http.StatusOK {
		return view, fmt.Errorf("ask for transaction %s: status %d: %s", id, status, body)
	}
	if err := json.Unmarshal(body, &view); err != nil {
		return view, fmt.Errorf("ask for transaction %s: read the answer %q: %w", id, body, err)
	}
	return view, nil
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

func (c *Client) do(ctx context.Context, method, url string, body []byte) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	if c.header != nil {
		if req.Header, err = c.header(ctx); err != nil {
			return 0, nil, nil, err
		}
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("%s %s: read the answer: %w", method, url, err)
	}
	return resp.StatusCode, resp.Header, answer, nil
}
