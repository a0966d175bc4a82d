package customhandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

func post(h http.Handler, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/Schedule", strings.NewReader(serviceBusOne))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set(InvocationHeader, "i-1")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func config() EventConfig {
	return EventConfig{Timeout: time.Minute, Grace: time.Second, MaxBody: 1 << 20, Concurrency: 256, Observer: unobserved{}, Logger: quiet()}
}

func TestEventAnswers(t *testing.T) {
	ok := func(context.Context, *Invocation) error { return nil }
	tests := []struct {
		name   string
		fn     EventFunc
		change func(*http.Request)
		status int
		logs   string // part of the answer's only log line, "" for none
	}{
		{"success", ok, nil, 200, ""},
		{"failure", func(context.Context, *Invocation) error { return errors.New("no drone") }, nil, 500, "no drone"},
		{"panic", func(context.Context, *Invocation) error { panic("lost") }, nil, 500, "panic: lost"},
		{"method", ok, func(r *http.Request) { r.Method = http.MethodGet }, 405, "method GET"},
		{"content type", ok, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "text/plain"},
		{"from a web page", ok, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1") }, 403, "web page"},
		{"no invocation id", ok, func(r *http.Request) { r.Header.Del(InvocationHeader) }, 400, InvocationHeader},
		{"too large", ok, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", 1<<20+1))) }, 413, "too large"},
		{"not JSON", ok, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{")) }, 400, "decode"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events := NewEvents(config())
			w := post(events.Handler("Schedule", 0, test.fn), test.change)
			if err := events.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if w.Code != test.status {
				t.Errorf("status %d, want %d", w.Code, test.status)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if test.status == 200 {
				if got, want := w.Body.String(), `{"Outputs":{},"Logs":[],"ReturnValue":null}`; got != want {
					t.Errorf("body %s, want %s", got, want)
				}
				return
			}
			var answer response
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Logs) != 1 || !strings.Contains(answer.Logs[0], test.logs) {
				t.Errorf("body %s, %v; want %s", w.Body, err, test.logs)
			}
		})
	}
}

func TestEventContext(t *testing.T) {
	var out bytes.Buffer
	c := config()
	c.Logger = telemetry.NewLogger(&out, slog.LevelInfo)
	events := NewEvents(c)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	w := post(events.Handler("Schedule", 0, func(ctx context.Context, i *Invocation) error {
		if i.ID != "i-1" || i.Function != "Schedule" {
			t.Errorf("got %+v", i)
		}
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > time.Minute {
			t.Error("no deadline")
		}
		if got := telemetry.TraceParent(ctx); !strings.HasPrefix(got, parent[:36]) {
			t.Errorf("trace %s", got)
		}
		c.Logger.InfoContext(ctx, "working")
		return nil
	}), func(r *http.Request) { r.Header.Set("traceparent", parent) })
	if w.Code != 200 || !strings.Contains(out.String(), `"function":"Schedule","invocation.id":"i-1"`) {
		t.Errorf("%d, log %s", w.Code, out.String())
	}
}

func TestEventTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := NewEvents(config())
		start := time.Now()
		w := post(events.Handler("Schedule", 0, func(ctx context.Context, _ *Invocation) error {
			<-ctx.Done()
			return ctx.Err()
		}), nil)
		if w.Code != 500 || time.Since(start) != time.Minute {
			t.Errorf("%d after %v", w.Code, time.Since(start))
		}
	})
}

func TestEventThatIgnoresItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.Concurrency = 1
		events := NewEvents(c)
		release := make(chan struct{})
		h := events.Handler("Schedule", 0, func(context.Context, *Invocation) error {
			<-release
			return nil
		})
		start := time.Now()
		if w := post(h, nil); w.Code != 500 || time.Since(start) != time.Minute+time.Second {
			t.Errorf("%d after %v", w.Code, time.Since(start))
		}
		// The slot is still taken: the next one waits for its whole time.
		start = time.Now()
		if w := post(h, nil); w.Code != 500 || time.Since(start) != time.Minute {
			t.Errorf("%d after %v", w.Code, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := events.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited for an event that does not end: %v", err)
		}
		close(release)
		if err := events.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestEventConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.Concurrency = 3
		events := NewEvents(c)
		h := events.Handler("Schedule", 0, func(context.Context, *Invocation) error {
			<-time.After(time.Second) // of the bubble
			return nil
		})
		start := time.Now()
		codes := make(chan int, 9)
		for range 9 {
			go func() { codes <- post(h, nil).Code }()
		}
		for range 9 {
			if code := <-codes; code != 200 {
				t.Errorf("status %d", code)
			}
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("9 events of 1 s in 3 slots took %v", took)
		}
	})
}
