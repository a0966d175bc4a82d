package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// remote is the other side, without a network: each call takes its time.
type remote struct {
	takes time.Duration
	// answer is the status and the Retry-After of the nth call, from 1; 0 is none.
	answer func(n int) (int, string)

	mu     sync.Mutex
	calls  []time.Time
	inside int
	most   int // calls at the same time
}

func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.calls = append(r.calls, time.Now())
	n := len(r.calls)
	r.inside++
	r.most = max(r.most, r.inside)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inside--
	}()
	select {
	case <-time.After(r.takes):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	status, retryAfter := r.answer(n)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {retryAfter}}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (r *remote) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

func newReceiver(t *testing.T, r *remote, log io.Writer) *Webhook {
	t.Helper()
	k, err := ParseSigningKey("whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := NewWebhook(WebhookConfig{
		URL: "https://example.com/hook", Keys: []SigningKey{k}, Now: time.Now,
		Limits: Limits{CallTimeout: 2 * time.Second, Patience: 11 * time.Second, Concurrency: 16,
			Breaker: failure.Breaker{FailureRatio: 0.5, MinCalls: 20, Window: 10 * time.Second, Delay: 10 * time.Second, Probes: 3}, Log: slog.New(slog.NewTextHandler(log, nil))},
	})
	if err != nil {
		t.Fatal(err)
	}
	receiver.http.Transport = r
	return receiver
}

// crowd has n events sent at a time, again and again, for a while: as with an
// outage in which messages wait in the queue. It returns how many ended in an
// error.
func crowd(ctx context.Context, r *Webhook, n int, d time.Duration) (notTaken int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(start) < d {
				invocation, cancel := context.WithTimeout(ctx, 45*time.Second)
				if err := r.Post(invocation, CloudEvent{ID: "t/1", Body: []byte("{}")}); err != nil {
					mu.Lock()
					notTaken++
					mu.Unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	return notTaken
}

// Ensure an outage makes no hot loop, however many have something to send:
// neither of calls nor of events that come back at once.
func TestOutage(t *testing.T) {
	for name, answer := range map[string]func(int) (int, string){
		"nobody listens":  func(int) (int, string) { return 0, "" },
		"errors":          func(int) (int, string) { return 500, "" },
		"nothing is here": func(int) (int, string) { return 404, "" },
		"too busy":        func(int) (int, string) { return 429, "" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				remote := &remote{takes: 10 * time.Millisecond, answer: answer}
				r := newReceiver(t, remote, &log)
				notTaken := crowd(t.Context(), r, 64, 10*time.Minute)
				// Before it opens a few dozen, and then up to three probes in ten seconds.
				if n := remote.count(); n < 40 || n > 40+3*60 {
					t.Errorf("%d calls in ten minutes", n)
				}
				if notTaken < 64 || notTaken > 64*10*60/10+3*60+64 {
					t.Errorf("%d events came back in ten minutes", notTaken)
				}
				if n := strings.Count(log.String(), "state=open"); n < 40 || n > 61 {
					t.Errorf("the log tells %d times that the breaker opened", n)
				}
			})
		})
	}
}

// Ensure everything goes on when the receiver is back, soon.
func TestOutageEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		back := func() bool { return time.Since(start) > 5*time.Minute }
		remote := &remote{takes: 200 * time.Millisecond, answer: func(int) (int, string) {
			if back() {
				return 204, ""
			}
			return 503, ""
		}}
		r := newReceiver(t, remote, io.Discard)
		crowd(t.Context(), r, 64, 5*time.Minute)
		before := remote.count()
		notTaken := crowd(t.Context(), r, 64, 20*time.Second)
		if n := remote.count() - before; n < 500 || notTaken > 64 {
			t.Errorf("%d calls and %d failures in the 20 s after the outage", n, notTaken)
		}
	})
}

// Ensure the receiver has no more calls at a time than it shall have, and that
// nobody fails for it who can wait.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := &remote{takes: time.Second, answer: func(int) (int, string) { return 200, "" }}
		if notTaken := crowd(t.Context(), newReceiver(t, remote, io.Discard), 64, time.Minute); notTaken > 0 {
			t.Errorf("%d failures behind others", notTaken)
		}
		if remote.most != 16 {
			t.Errorf("%d calls at a time, want 16", remote.most)
		}
	})
}

// Ensure a Retry-After holds for everybody in this process, and no longer.
func TestRetryAfterHoldsForAll(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			remote := &remote{answer: func(n int) (int, string) {
				if n == 1 {
					return status, "300"
				}
				return 200, ""
			}}
			r := newReceiver(t, remote, io.Discard)
			event := CloudEvent{ID: "t/1", Body: []byte("{}")}
			if err := r.Post(t.Context(), event); failure.RetryAfter(err) != 5*time.Minute {
				t.Errorf("%d: %v asks for %v", status, err, failure.RetryAfter(err))
			}
			err := r.Post(t.Context(), event)
			if !errors.Is(err, errNotSent) || failure.RetryAfter(err) != 5*time.Minute-11*time.Second || remote.count() != 1 {
				t.Errorf("%d: %v asks for %v after %d calls", status, err, failure.RetryAfter(err), remote.count())
			}
			<-time.After(4*time.Minute + 45*time.Second) // inside the bubble: no time passes
			if err := r.Post(t.Context(), event); err != nil {
				t.Errorf("%d: when the time is over: %v", status, err)
			}
		})
	}
}

// Ensure who waits leaves time for the call that he waits for, and is told when
// he gives up.
func TestWaitingLeavesTimeForTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := &remote{answer: func(int) (int, string) { return 429, "300" }}
		r := newReceiver(t, remote, io.Discard)
		event := CloudEvent{ID: "t/1", Body: []byte("{}")}
		if err := r.Post(t.Context(), event); err == nil {
			t.Fatal("taken")
		}
		for whole, wait := range map[time.Duration]time.Duration{5 * time.Second: 3 * time.Second, 12 * time.Second: 10 * time.Second, time.Minute: 11 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), whole)
			start := time.Now()
			if err := r.Post(ctx, event); !errors.Is(err, errNotSent) || time.Since(start) != wait {
				t.Errorf("with %v: after %v: %v", whole, time.Since(start), err)
			}
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if err := r.Post(ctx, event); !errors.Is(err, errNotSent) || time.Since(start) != 0 {
			t.Errorf("cancelled, after %v: %v", time.Since(start), err)
		}
	})
}

// Ensure a call that is not answered takes a call's time.
func TestCallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, &remote{takes: time.Hour, answer: func(int) (int, string) { return 200, "" }}, io.Discard)
		start := time.Now()
		err := r.Post(t.Context(), CloudEvent{ID: "t/1", Body: []byte("{}")})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// Ensure who finds the receiver down is told when it will be tried again, so that
// it does not come back before.
func TestOpenBreakerSaysWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(t, &remote{answer: func(int) (int, string) { return 500, "" }}, io.Discard)
		event := CloudEvent{ID: "t/1", Body: []byte("{}")}
		for range 20 {
			if err := r.Post(t.Context(), event); err == nil {
				t.Fatal("taken")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := r.Post(ctx, event)
		if left := failure.RetryAfter(err); !errors.Is(err, errNotSent) || left < 7*time.Second || left > 9500*time.Millisecond {
			t.Errorf("%v, to come again in %v", err, left)
		}
	})
}

// Ensure a probe whose caller gives up does not take its permit away for ever.
func TestProbeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		remote := &remote{takes: time.Second, answer: func(int) (int, string) {
			if down {
				return 500, ""
			}
			return 200, ""
		}}
		r := newReceiver(t, remote, io.Discard)
		event := CloudEvent{ID: "t/1", Body: []byte("{}")}
		crowd(t.Context(), r, 30, time.Second)
		if r.gate.closed() == 0 {
			t.Fatal("the breaker did not open")
		}
		down = false
		for range 5 {
			<-time.After(r.gate.closed() + time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*time.Millisecond, cancel) // in the middle of the call
			if err := r.Post(ctx, event); !errors.Is(err, context.Canceled) && !errors.Is(err, errNotSent) {
				t.Errorf("given up: %v", err)
			}
			cancel()
		}
		<-time.After(r.gate.closed() + time.Millisecond)
		if err := r.Post(t.Context(), event); err != nil {
			t.Errorf("the receiver is up again: %v", err)
		}
	})
}
