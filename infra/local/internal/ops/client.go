// Package ops is the operators' command: a client of the function Operations,
// and the display of its answers.
package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// ErrNotServed is returned when nobody answers at the app's address.
var ErrNotServed = errors.New("nothing is running")

// maxAnswer bounds what is read of an answer, in bytes: a page of the largest
// entries, or the largest document.
const maxAnswer = 16 << 20

// Client speaks to the function Operations of one app. Refusals are returned as
// *problem.Problem. It is safe for concurrent use. Close must be called.
type Client struct {
	base   string // up to /operations
	secret Secret
	http   *http.Client
}

// Secret is what lets an operator in. The zero value is nothing, which does
// where nobody is asked for anything.
type Secret struct {
	Key string // a function key
	// Token returns an access token; nil for none.
	Token func(context.Context) (string, error)
}

// NewClient returns a client of the app at that URL, with or without its prefix
// /api. A secret goes over https, or to this machine, only.
func NewClient(app string, secret Secret) (*Client, error) {
	u, err := url.Parse(app)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not a URL of an app; use http://host:port or https://host", app)
	}
	if (secret.Key != "" || secret.Token != nil) && !auth.SafeAddress(u) {
		return nil, fmt.Errorf("%q: anyone on the way could read a key or a token; use https", app)
	}
	base := strings.TrimSuffix(strings.TrimRight(app, "/"), "/api")
	return &Client{
		base: base + "/api/operations", secret: secret,
		http: &http.Client{
			Timeout: time.Minute, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment},
			// A redirect could take the secret elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Page is a page of a list, and the continuation of the next one ("" after the
// last).
type Page[T any] struct {
	Items        []T    `json:"items"`
	Continuation string `json:"continuation"`
}

// Collect reads pages until it has so many, or all. more is set when there may
// be more of them.
func Collect[T any](limit int, page func(next string) (Page[T], error)) (list []T, more bool, err error) {
	next := ""
	for {
		p, err := page(next)
		if err != nil {
			return nil, false, err
		}
		list = append(list, p.Items...)
		if next = p.Continuation; next == "" || len(list) >= limit {
			break
		}
	}
	return list[:min(len(list), limit)], len(list) > limit || next != "", nil
}

// Transactions returns a page of the transactions that pass a filter, or that a search
// finds: the parameters of the list.
func (c *Client) Transactions(ctx context.Context, filter url.Values, continuation string) (p Page[operate.Summary], err error) {
	parameters := query("continuation", continuation)
	maps.Copy(parameters, filter)
	return p, c.get(ctx, &p, parameters, "transactions")
}

// Story returns all that is known of a transaction.
func (c *Client) Story(ctx context.Context, id string) (s operate.Story, err error) {
	return s, c.get(ctx, &s, nil, "transactions", id)
}

// Retry has a Stuck transaction go on, with its undoing or with its run.
func (c *Client) Retry(ctx context.Context, id string, a operate.Actor) (acted operate.Acted, err error) {
	return acted, c.post(ctx, &acted, map[string]string{"by": a.By, "why": a.Why}, "transactions", id, operate.ActRetry)
}

// GiveUp ends a Stuck transaction.
func (c *Client) GiveUp(ctx context.Context, id string, a operate.Actor) (acted operate.Acted, err error) {
	return acted, c.post(ctx, &acted, map[string]string{"by": a.By, "note": a.Why}, "transactions", id, operate.ActGiveUp)
}

// Wake has an open transaction that waits go on now.
func (c *Client) Wake(ctx context.Context, id string, a operate.Actor) (acted operate.Acted, err error) {
	return acted, c.post(ctx, &acted, map[string]string{"by": a.By, "why": a.Why}, "transactions", id, operate.ActWake)
}

// Acts acts on several, and returns what has become of each, in their order.
func (c *Client) Acts(ctx context.Context, a operate.Acts) ([]operate.Result, error) {
	var p Page[operate.Result]
	err := c.post(ctx, &p, map[string]any{"act": a.Act, "ids": a.IDs, "by": a.By.By, "why": a.By.Why}, "acts")
	if err == nil && len(p.Items) != len(a.IDs) {
		err = fmt.Errorf("the app answered for %d of %d", len(p.Items), len(a.IDs))
	}
	return p.Items, err
}

// Entries returns a page of the quarantine. Empty arguments select everything.
func (c *Client) Entries(ctx context.Context, source, reason, state, continuation string) (p Page[quarantine.Entry], err error) {
	return p, c.get(ctx, &p, query("source", source, "reason", reason, "state", state, "continuation", continuation), "quarantine")
}

// Entry returns an entry of the quarantine.
func (c *Client) Entry(ctx context.Context, source, id string) (e quarantine.Entry, err error) {
	return e, c.get(ctx, &e, nil, "quarantine", source, id)
}

// Act redrives or drops an entry.
func (c *Client) Act(ctx context.Context, source, id string, kind quarantine.ActKind, a operate.Actor) (acted operate.EntryActed, err error) {
	return acted, c.post(ctx, &acted, map[string]string{"by": a.By, "why": a.Why}, "quarantine", source, id, string(kind))
}

// Status returns how things stand with the app's shard.
func (c *Client) Status(ctx context.Context) (s operate.Status, err error) {
	return s, c.get(ctx, &s, nil, "status")
}

// Partitions returns how things stand with the partitions of the hub.
func (c *Client) Partitions(ctx context.Context) (p Page[relay.Partition], err error) {
	return p, c.get(ctx, &p, nil, "partitions")
}

// Replay has events of a partition handed over again, from a sequence number or a
// time, up to a sequence number or, with nil, all that were ever handed over: as many
// as one call does.
func (c *Client) Replay(ctx context.Context, partition, from string, to *int64) (done relay.Replayed, err error) {
	body := map[string]any{"partition": partition, "from": from}
	if to != nil {
		body["to"] = *to
	}
	return done, c.post(ctx, &done, body, "replay")
}

// query returns the parameters that have a value.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

func (c *Client) get(ctx context.Context, into any, query url.Values, path ...string) error {
	return c.do(ctx, http.MethodGet, c.url(query, path), nil, into)
}

func (c *Client) post(ctx context.Context, into any, body any, path ...string) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, c.url(nil, path), encoded, into)
}

func (c *Client) url(query url.Values, path []string) string {
	full := c.base
	for _, part := range path {
		full += "/" + url.PathEscape(part)
	}
	if len(query) > 0 {
		full += "?" + query.Encode()
	}
	return full
}

func (c *Client) do(ctx context.Context, method, target string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.secret.Key != "" {
		req.Header.Set("X-Functions-Key", c.secret.Key)
	}
	if c.secret.Token != nil {
		token, err := c.secret.Token(ctx)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w at %s: %w", ErrNotServed, strings.TrimSuffix(c.base, "/api/operations"), rootOf(err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, target, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s %s: the answer does not come from Operations: %w", method, target, err)
	}
	return nil
}

// rootOf leaves out the method and the URL, which the caller names himself.
func rootOf(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// refusal is what an app, or a host before it, answers instead of a result.
func refusal(resp *http.Response, data []byte) error {
	p := &problem.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), problem.ContentType) {
		var told problem.Problem
		if json.Unmarshal(data, &told) == nil {
			p = &told
			p.Status = resp.StatusCode
		}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		p.Detail = "the app wants to know who asks: sign in to Azure and use -audience, or set OPS_TOKEN or OPS_KEY"
	case http.StatusForbidden:
		p.Detail = "you need the app role Operator"
	}
	return p
}
