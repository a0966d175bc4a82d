package payment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/facade"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Declined is the provider's refusal, for good.
var Declined = problem.Type{ID: "declined", Status: 422, Title: "The payment was declined"}

// maxAnswer is the largest answer of the provider that is read, in bytes.
const maxAnswer = 16 << 10

// Provider calls the payment provider:
//
//	POST charges, with an Idempotency-Key, {customer, cents}: 201 {id};
//	  402 {message}: declined; 409: the key's first request is under way
//	POST charges/{id}/refunds, with an Idempotency-Key: 201
type Provider struct {
	base   string
	client *http.Client
}

var _ facade.Service[Ask, Charge] = (*Provider)(nil)

// NewProvider returns the provider at a base URL. Each call ends within timeout.
func NewProvider(base string, timeout time.Duration) *Provider {
	return &Provider{strings.TrimRight(base, "/"), &http.Client{Timeout: timeout}}
}

// Post implements facade.Service: it charges a customer.
func (p *Provider) Post(ctx context.Context, key string, ask Ask) (Charge, error) {
	var charge Charge
	status, answer, err := p.call(ctx, "charges", key, ask)
	switch {
	case err != nil:
		return charge, err
	case status == http.StatusPaymentRequired:
		var refusal struct{ Message string }
		_ = json.Unmarshal(answer, &refusal) // declined it is, with a reason or without
		return charge, problem.New(Declined, "%s", refusal.Message)
	}
	if err := json.Unmarshal(answer, &charge); status != http.StatusCreated || err != nil || charge.ID == "" {
		return charge, unexpected("charge", key, status)
	}
	return charge, nil
}

// Revoke implements facade.Service: it refunds a charge.
func (p *Provider) Revoke(ctx context.Context, key string, charge Charge) error {
	status, _, err := p.call(ctx, "charges/"+url.PathEscape(charge.ID)+"/refunds", key+"/refund", struct{}{})
	if err == nil && status != http.StatusCreated {
		return unexpected("refund", key, status)
	}
	return err
}

// call posts a body as JSON, and returns the status and the body of the answer.
func (p *Provider) call(ctx context.Context, path, key string, body any) (int, []byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, fmt.Errorf("encode the call of %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/"+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, fmt.Errorf("build the call of %s: %w", path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	res, err := p.client.Do(req)
	if err != nil {
		return 0, nil, failure.New(failure.Transient, "call the payment provider", key, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, nil, failure.New(failure.Transient, "read the payment provider's answer", key, err)
	}
	return res.StatusCode, answer, nil
}

// unexpected is an answer that settles nothing: the call is to be repeated.
func unexpected(what, key string, status int) error {
	return failure.New(failure.Transient, what, key, fmt.Errorf("the payment provider answered %d", status))
}
