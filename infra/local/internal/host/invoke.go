package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// ErrFunctionTimeout is an invocation that took longer than functionTimeout.
// The host has killed the handler, and every other invocation with it.
var ErrFunctionTimeout = errors.New("the function exceeded functionTimeout")

// maxResponse bounds what is read of an answer, like the limit for requests.
const maxResponse = 100 << 20

// invoke posts one invocation to the handler and judges the answer. ctx bounds
// only the wait for the handler: as in the real host nothing cancels a call
// that has begun, but the end of the handler.
func (h *Host) invoke(ctx context.Context, f *config.Function, inv payload.Invocation, retry *payload.Retry) (payload.Result, error) {
	id := cmp.Or(inv.ID, uuid.NewString())
	begin := h.cfg.Now()
	result, err := h.post(ctx, f, id, inv, retry)
	took := h.cfg.Now().Sub(begin)
	if err != nil {
		h.cfg.Logger.Error(fmt.Sprintf("Executed 'Functions.%s' (Failed)", f.Name), "trigger", string(f.Trigger.Kind), "entity", f.Trigger.Entity(),
			"invocation", id, "duration.ms", took.Milliseconds(), "error", err)
		return result, fmt.Errorf("function %s, invocation %s: %w", f.Name, id, err)
	}
	for _, line := range result.Logs {
		h.cfg.Logger.Info(line, "category", "Function."+f.Name+".User", "invocation", id)
	}
	h.cfg.Logger.Debug(fmt.Sprintf("Executed 'Functions.%s' (Succeeded)", f.Name), "invocation", id, "duration.ms", took.Milliseconds())
	return result, nil
}

func (h *Host) post(ctx context.Context, f *config.Function, id string, inv payload.Invocation, retry *payload.Retry) (payload.Result, error) {
	body, err := inv.Encode(payload.Sys{MethodName: f.Name, UtcNow: h.cfg.Now(), RandGuid: uuid.NewString()}, retry)
	if err != nil {
		return payload.Result{}, fmt.Errorf("encode the invocation: %w", err)
	}
	if err := h.awaitHandler(ctx); err != nil {
		return payload.Result{}, fmt.Errorf("wait for the handler: %w", err)
	}
	pid := h.sup.PID()
	exceeded := h.limit(f, id)
	result, err := h.exchange(context.WithoutCancel(h.calls), f, id, body, inv.TraceParent)
	if exceeded() {
		return result, ErrFunctionTimeout
	}
	if errors.Is(err, payload.ErrNoResult) {
		h.cfg.Logger.Error(fmt.Sprintf("Functions.%s: %v. Treated as that timeout now: the handler is killed and starts again.", f.Name, err), "invocation", id)
		h.sup.Restart(pid)
		return result, fmt.Errorf("%w: %w", ErrFunctionTimeout, err)
	}
	return result, err
}

// limit watches over functionTimeout from now on: TimeoutGrace after it, the
// handler that is called now is killed. stop ends the watch, and reports whether
// it came to that.
func (h *Host) limit(f *config.Function, id string) (stop func() bool) {
	limit := h.app.Host.FunctionTimeout
	if limit == 0 {
		return func() bool { return false }
	}
	pid := h.sup.PID()
	t := time.AfterFunc(limit+h.cfg.TimeoutGrace, func() {
		h.cfg.Logger.Error(fmt.Sprintf("Timeout value of %s was exceeded by function: Functions.%s. The handler is killed and starts again; all its other invocations fail.",
			limit, f.Name), "invocation", id)
		h.sup.Restart(pid)
	})
	return func() bool { return !t.Stop() }
}

func (h *Host) exchange(ctx context.Context, f *config.Function, id string, body []byte, traceparent string) (payload.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/"+f.Name, bytes.NewReader(body))
	if err != nil {
		return payload.Result{}, err
	}
	req.ContentLength = -1 // it goes in chunks, as from the real host
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set(headerInvocation, id)
	req.Header.Set(headerHostVersion, Version)
	req.Header.Set("User-Agent", "Azure-Functions-Host/"+Version)
	if h.app.Host.OpenTelemetry {
		req.Header.Set("traceparent", hostSpan(traceparent))
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return payload.Result{}, fmt.Errorf("call the handler: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	err = errors.Join(err, resp.Body.Close())
	if err != nil {
		return payload.Result{}, fmt.Errorf("read the handler's answer: %w", err)
	}
	return payload.Decode(resp.StatusCode, resp.Header.Get("Content-Type"), resp.ContentLength, answer)
}

// invokeWithRetry repeats an invocation as its retry policy says. It stops
// when ctx ends, with the last attempt's error.
func (h *Host) invokeWithRetry(ctx context.Context, f *config.Function, inv payload.Invocation) error {
	if f.Retry == nil {
		_, err := h.invoke(h.calls, f, inv, nil)
		return err
	}
	inv.ID = uuid.NewString() // of all attempts
	var last error
	for attempt := 0; ; attempt++ {
		err := h.attempt(f, inv, &payload.Retry{Count: attempt, MaxCount: f.Retry.MaxCount, Err: last})
		if err == nil {
			return nil
		}
		last = err
		if f.Retry.MaxCount >= 0 && attempt >= f.Retry.MaxCount {
			return fmt.Errorf("after %d attempts: %w", attempt+1, err)
		}
		if attempt == 0 && repeatsBatches(*f) {
			defer h.repeats.enter()()
		}
		if !sleep(ctx, h.retryWait(f, attempt)) {
			return err
		}
	}
}

// attempt makes one of several attempts of an invocation.
func (h *Host) attempt(f *config.Function, inv payload.Invocation, retry *payload.Retry) error {
	if repeatsBatches(*f) {
		if err := h.repeats.admit(); err != nil {
			return err
		}
	}
	_, err := h.invoke(h.calls, f, inv, retry)
	return err
}

// retryWait is the time between the attempt with this number and the next.
func (h *Host) retryWait(f *config.Function, attempt int) time.Duration {
	wait := f.Retry.Wait(attempt)
	if most := h.cfg.RetryMost; most > 0 {
		return min(wait, most)
	}
	return wait
}

// sleep waits and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
