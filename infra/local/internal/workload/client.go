package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// client speaks the public API, as anyone's client would.
type client struct {
	base string // such as http://127.0.0.1:7071
	http *http.Client
}

func newClient(base string, connections int) *client {
	return &client{base: base, http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// receipt is the body of a 202.
type receipt struct {
	TransactionID string `json:"transactionId"`
	OperationID   string `json:"operationId"`
}

// view is what the demo reads of a transaction.
type view struct {
	ID         string      `json:"id"`
	State      string      `json:"state"`
	Reason     string      `json:"reason"`
	EndedAt    time.Time   `json:"endedAt"`
	Operations []operation `json:"operations"`
}

type operation struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// refusal is an answer that took nothing on.
type refusal struct {
	Status     int           `json:"-"`
	RetryAfter time.Duration `json:"-"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Title, r.Detail) }

// submit sends a request.
func (c *client) submit(ctx context.Context, it Item) (receipt, error) {
	var r receipt
	if it.ID != "" {
		return r, c.repeat(ctx, true, http.MethodPut, "/api/deliveryrequests/"+url.PathEscape(it.ID), "", it.Request, &r)
	}
	return r, c.repeat(ctx, it.Key != "", http.MethodPost, "/api/deliveryrequests", it.Key, it.Request, &r)
}

func (c *client) cancel(ctx context.Context, id, key string) (receipt, error) {
	var r receipt
	return r, c.repeat(ctx, true, http.MethodDelete, "/api/deliveryrequests/"+url.PathEscape(id), key, nil, &r)
}

func (c *client) reschedule(ctx context.Context, id, key string, change Change) (receipt, error) {
	var r receipt
	return r, c.repeat(ctx, true, http.MethodPatch, "/api/deliveryrequests/"+url.PathEscape(id), key, change, &r)
}

func (c *client) progress(ctx context.Context, id string) (view, error) {
	var v view
	return v, c.repeat(ctx, true, http.MethodGet, "/api/deliveryrequests/"+url.PathEscape(id), "", nil, &v)
}

// repeat makes a call until it is answered for good. A 503 is repeated after
// the time that the service asks for. What leaves open whether the service has
// done anything, a 500 or a broken connection, is repeated only if the call is
// safe to repeat: it has an id or a key of its own, or changes nothing.
func (c *client) repeat(ctx context.Context, safe bool, method, path, key string, body, answer any) error {
	for {
		err := c.do(ctx, method, path, key, body, answer)
		wait := retryPause
		var r *refusal
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.As(err, &r):
			if r.Status < 500 || r.Status != http.StatusServiceUnavailable && !safe {
				return err
			}
			wait = max(wait, r.RetryAfter)
		case !safe:
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// retryPause is the shortest time between two tries.
const retryPause = 200 * time.Millisecond

// do makes one call and reads a 2xx into answer.
func (c *client) do(ctx context.Context, method, path, key string, body, answer any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		r := &refusal{Status: resp.StatusCode, RetryAfter: retryAfter(resp)}
		if err := json.Unmarshal(data, r); err != nil {
			r.Detail = string(data)
		}
		return fmt.Errorf("%s %s: %w", method, path, r)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s %s: answer %q: %w", method, path, data, err)
	}
	return nil
}

// retryAfter reads the header; 0 if there is none.
func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// status returns the HTTP status of a refusal in err's chain, 0 if there is none.
func status(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}
