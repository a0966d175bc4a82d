package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 4 << 20

// rest calls one service. It is safe for concurrent use.
type rest struct {
	base     string // URL without a slash at the end
	pipeline runtime.Pipeline
}

// newREST returns a rest whose requests are authorized by a policy. retries is
// how often a request is repeated that failed for a moment; -1 for never.
func newREST(base string, authorize policy.Policy, transport policy.Transporter, retries int32) *rest {
	return &rest{strings.TrimSuffix(base, "/"), runtime.NewPipeline("hooks", "v1",
		runtime.PipelineOptions{PerRetry: []policy.Policy{authorize}},
		&policy.ClientOptions{
			Transport: transport,
			Retry:     policy.RetryOptions{MaxRetries: retries, TryTimeout: 30 * time.Second},
		})}
}

// statusError is an answer that is no success.
type statusError struct {
	method, url   string
	status        int
	code, message string // the service's own
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s %s: %d", e.method, e.url, e.status)
	if e.code != "" {
		text += " " + e.code
	}
	if e.message != "" {
		text += ": " + e.message
	}
	return text
}

// do sends a request to a path below the base, or to a whole URL there. in is
// sent as JSON, or as it is if it is a []byte; nil sends nothing. The JSON of a
// success is read into out, if there is any and out isn't nil. Every status
// but 2xx is a *statusError.
func (c *rest) do(ctx context.Context, method, path string, header map[string]string, in, out any) error {
	url := path
	if !strings.HasPrefix(path, c.base+"/") {
		url = c.base + path
	}
	req, err := runtime.NewRequest(ctx, method, url)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	for name, value := range header {
		req.Raw().Header.Set(name, value)
	}
	switch body := in.(type) {
	case nil:
	case []byte:
		err = req.SetBody(streaming.NopCloser(bytes.NewReader(body)), "application/octet-stream")
	default:
		err = runtime.MarshalAsJSON(req, body)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	resp, err := c.pipeline.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, url, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return refusal(method, url, resp, answer)
	case out == nil || len(answer) == 0:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: the answer: %w", method, url, err)
	}
	return nil
}

// refusal reads what a service says of a failure: Graph in an object "error",
// Cosmos DB without it, Blob Storage in a header.
func refusal(method, url string, resp *http.Response, answer []byte) error {
	type said struct{ Code, Message string }
	var body struct {
		said
		Error said
	}
	_ = json.Unmarshal(answer, &body) // another form says nothing more
	e := &statusError{method: method, url: url, status: resp.StatusCode, code: body.Error.Code, message: body.Error.Message}
	if e.code == "" {
		e.code, e.message = body.Code, body.Message
	}
	if e.code == "" {
		e.code = resp.Header.Get("x-ms-error-code")
	}
	e.message, _, _ = strings.Cut(e.message, "\n")
	e.message = strings.TrimSpace(e.message)
	return e
}
