package customhandler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// InvocationHeader carries the id of an invocation, for events and for HTTP.
const InvocationHeader = "X-Azure-Functions-InvocationId"

// EventFunc handles an event. Nil completes the message (or checkpoints the
// batch); an error makes the host abandon the message, or repeat the batch.
type EventFunc func(ctx context.Context, i *Invocation) error

// EventConfig is how events are handled. All fields are required.
type EventConfig struct {
	// Timeout bounds one event; it must be below the host's functionTimeout,
	// after which the host kills the process with everything in it.
	Timeout time.Duration
	// Grace is how long an event may go on after Timeout before it is answered
	// as failed without it. Timeout+Grace must be below functionTimeout, too.
	Grace time.Duration
	// MaxBody bounds the body of an invocation, in bytes.
	MaxBody int64
	// Concurrency bounds the events of one function that run at once; more
	// wait, inside their Timeout.
	Concurrency int
	Observer    Observer // is told of each event
	Logger      *slog.Logger
}

// Events makes handlers for events and knows those that still run. It is safe
// for concurrent use.
type Events struct {
	c       EventConfig
	running sync.WaitGroup
}

// NewEvents returns an Events.
func NewEvents(c EventConfig) *Events { return &Events{c: c} }

// Wait returns when no event runs any more, or with an error when ctx ends
// first. It is called after the server has stopped: then only events that
// ignore the end of their context can be left.
func (e *Events) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { e.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for events: %w", ctx.Err())
	}
}

// Handler returns the handler of one function's events. It answers 200 when fn
// succeeds and 500 when it doesn't, panics included: only that invocation
// fails. An event has timeout in place of EventConfig's if that is longer.
func (e *Events) Handler(function string, timeout time.Duration, fn EventFunc) http.Handler {
	slots := make(chan struct{}, e.c.Concurrency)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, status, err := e.read(w, r, function)
		if err != nil {
			e.c.Logger.Error("invocation refused", telemetry.KeyFunction, function, telemetry.KeyStatus, status, telemetry.KeyError, err)
			respond(w, status, err)
			return
		}
		ctx := telemetry.With(r.Context(),
			slog.String(telemetry.KeyFunction, function), slog.String(telemetry.KeyInvocation, i.ID))
		ctx, ended := e.c.Observer.Event(telemetry.FromHost(ctx, r.Header), i)
		ctx, cancel := context.WithTimeout(telemetry.Rooted(ctx), max(timeout, e.c.Timeout))
		defer cancel()
		start := time.Now()
		err = e.run(ctx, slots, i, fn)
		ended(err)
		if err != nil {
			e.c.Logger.ErrorContext(ctx, "invocation failed", telemetry.KeyDuration, time.Since(start).Milliseconds(), telemetry.KeyError, err)
			respond(w, http.StatusInternalServerError, err)
			return
		}
		e.c.Logger.DebugContext(ctx, "invocation succeeded", telemetry.KeyDuration, time.Since(start).Milliseconds())
		respond(w, http.StatusOK, nil)
	})
}

// read checks the request and decodes it. The status is for the error.
func (e *Events) read(w http.ResponseWriter, r *http.Request, function string) (*Invocation, int, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("method %s is not POST", r.Method)
	}
	// The host sends none; a browser sends it with every POST, and an event may
	// name any caller.
	if _, sent := r.Header["Origin"]; sent {
		return nil, http.StatusForbidden, errors.New("a web page may not send events")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("content type %q is not application/json", r.Header.Get("Content-Type"))
	}
	id := r.Header.Get(InvocationHeader)
	if id == "" {
		return nil, http.StatusBadRequest, fmt.Errorf("header %s %w", InvocationHeader, ErrMissing)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.c.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		return nil, status, fmt.Errorf("read invocation %s: %w", id, err)
	}
	i, err := decode(id, function, body)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	return i, 0, nil
}

// run calls fn in a slot and waits for it, but not for ever: the host would
// kill the whole process for one event that ignores its context.
func (e *Events) run(ctx context.Context, slots chan struct{}, i *Invocation, fn EventFunc) error {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other invocations of %s: %w", i.Function, ctx.Err())
	}
	done := make(chan error, 1)
	e.running.Go(func() {
		defer func() { <-slots }()
		done <- e.guard(ctx, i, fn)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(e.c.Grace)
	defer grace.Stop()
	select {
	case err := <-done:
		return err
	case <-grace.C:
		return fmt.Errorf("invocation %s goes on after its time: %w", i.ID, ctx.Err())
	}
}

// guard turns a panic of fn into an error.
func (e *Events) guard(ctx context.Context, i *Invocation, fn EventFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e.c.Logger.ErrorContext(ctx, "panic", telemetry.KeyError, fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(ctx, i)
}

// response is what the host reads of a 2xx. An empty body or null would hang
// the invocation, another content type would fail it.
type response struct {
	Outputs     map[string]any
	Logs        []string
	ReturnValue any
}

func respond(w http.ResponseWriter, status int, err error) {
	answer := response{Outputs: map[string]any{}, Logs: []string{}}
	if err != nil {
		answer.Logs = append(answer.Logs, err.Error())
	}
	body, encodeErr := json.Marshal(answer)
	if encodeErr != nil { // strings only: it can't fail, but success must not be claimed
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a host that is gone repeats the event
}
