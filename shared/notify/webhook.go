package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// maxAnswer is how much of an answer is read, in bytes, to keep its connection.
// Nothing in it matters.
const maxAnswer = 64 << 10

// WebhookConfig says whom to call, and how. All fields but Application are required.
type WebhookConfig struct {
	URL string // with http or https
	// Application tells the receiver's people what calls, as the User-Agent.
	Application string
	// Keys sign: the current one, and while it is replaced the previous one.
	Keys []SigningKey
	Limits
	Now func() time.Time // for the signatures' timestamps
}

// Webhook is the receiver of notices behind an HTTP endpoint: a POST of the
// CloudEvent in structured mode, signed by the Standard Webhooks specification.
//
// Of "HTTP 1.1 Web Hooks for Event Delivery" (CloudEvents, 1.0.2) it keeps the
// delivery: section 2 with any 2xx for taken, redirects that are not followed,
// and a Retry-After that is observed by all of the process. Left out are section
// 4, the handshake with OPTIONS: it keeps a sender from being turned against
// others by whoever registers an address with it, and here nobody does, the
// address is a setting; and section 3, a token: the signature tells who sends.
//
// It is safe for concurrent use, and its limits
// hold for one process: the total is theirs times the instances.
type Webhook struct {
	c    WebhookConfig
	gate *gate
	http *http.Client
}

var _ Receiver = (*Webhook)(nil)

// NewWebhook returns a receiver, or an error that says what is wrong with c.
func NewWebhook(c WebhookConfig) (*Webhook, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("webhook: no URL")
	case len(c.Keys) == 0:
		return nil, errors.New("webhook: no key")
	case !c.Limits.valid() || c.Now == nil:
		return nil, errors.New("webhook: a required field is missing")
	}
	return &Webhook{c: c, gate: newGate("the receiver of notices", c.Limits), http: auth.NewClient(c.CallTimeout, c.Concurrency)}, nil
}

// Close closes the idle connections. Calls under way are not disturbed.
func (r *Webhook) Close() { r.http.CloseIdleConnections() }

// Post makes one call when it is its turn. The errors are transient failures.
func (r *Webhook) Post(ctx context.Context, e CloudEvent) error {
	leave, wait, err := r.gate.enter(ctx)
	if err != nil {
		return notTaken(e, wait, err)
	}
	var a answer
	defer func() { leave(ctx, a) }()
	a, err = r.call(ctx, e)
	switch {
	case err != nil:
		return notTaken(e, 0, err)
	case !a.taken():
		return notTaken(e, a.retryAfter, fmt.Errorf("answered %d %s", a.status, http.StatusText(a.status)))
	}
	return nil
}

func notTaken(e CloudEvent, retryAfter time.Duration, err error) error {
	return &failure.Error{Kind: failure.Transient, Op: "post event", ID: e.ID, RetryAfter: retryAfter, Err: err}
}

// answer is what came back; the status is 0 if nothing did.
type answer struct {
	status     int
	retryAfter time.Duration
}

func (a answer) taken() bool { return a.status >= 200 && a.status <= 299 }

func (r *Webhook) call(ctx context.Context, e CloudEvent) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.c.CallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.c.URL, bytes.NewReader(e.Body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("User-Agent", r.c.Application)
	if e.TraceParent != "" {
		req.Header.Set("Traceparent", e.TraceParent)
	}
	if err := Sign(req.Header, messageID(e.ID), r.c.Now(), e.Body, r.c.Keys...); err != nil {
		return answer{}, err
	}
	res, err := r.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	// The status says it all: an answer whose rest does not come is one, too.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	return answer{res.StatusCode, min(failure.ParseRetryAfter(res.Header.Get("Retry-After"), r.c.Now()), workflow.MaxRetryAfter)}, nil
}

// messageID is the id that is signed: the event's without its dots, which would
// part the signed content. No event's id has a ~ of its own.
func messageID(eventID string) string { return strings.ReplaceAll(eventID, ".", "~") }
