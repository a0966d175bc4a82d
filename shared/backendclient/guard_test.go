package backendclient

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// service is a caller that answers with outcome, after hold is closed if there
// is one, or when the call's time is up.
type service struct {
	calls   atomic.Int32
	outcome atomic.Pointer[workflow.Outcome]
	hold    chan struct{}
}

func (s *service) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	s.calls.Add(1)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return unknown(0, codeOf(ctx.Err(), codeBroken), ctx.Err())
		}
	}
	return *s.outcome.Load()
}

func (s *service) answer(o workflow.Outcome) { s.outcome.Store(&o) }

var (
	fine   = workflow.Outcome{Effect: workflow.EffectYes, Status: 200}
	broken = workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 503, Message: "down"}
)

// small are limits that a test reaches with few calls.
var small = Limits{Concurrency: 4, Breaker: failure.Breaker{MinCalls: 4, Probes: 2}}

// whole gives the fields that are zero what a guard usually has.
func whole(l Limits) Limits {
	l.CallTimeout = cmp.Or(l.CallTimeout, 2*time.Second)
	l.Concurrency = cmp.Or(l.Concurrency, 256)
	b := &l.Breaker
	b.FailureRatio = cmp.Or(b.FailureRatio, 0.5)
	b.MinCalls = cmp.Or(b.MinCalls, 20)
	b.Window = cmp.Or(b.Window, 10*time.Second)
	b.Delay = cmp.Or(b.Delay, 10*time.Second)
	b.Probes = cmp.Or(b.Probes, 3)
	return l
}

func guard(t *testing.T, l Limits) (*Guard, *service, *bytes.Buffer) {
	t.Helper()
	s := &service{}
	s.answer(fine)
	var log bytes.Buffer
	return NewGuard(s, whole(l), telemetry.NoMetrics(), slog.New(slog.NewTextHandler(&log, nil))), s, &log
}

// calls makes n calls, one after the other, and returns the last outcome.
func calls(t *testing.T, g *Guard, n int) workflow.Outcome {
	t.Helper()
	var o workflow.Outcome
	for range n {
		o = g.Do(t.Context(), put("{}"))
	}
	return o
}

func wantRefused(t *testing.T, o workflow.Outcome, atLeast, atMost time.Duration) {
	t.Helper()
	wantOutcome(t, o, workflow.RetryLater, workflow.EffectNo, "open")
	if o.RetryAfter < atLeast || o.RetryAfter > atMost {
		t.Errorf("to come back after %v, want %v to %v", o.RetryAfter, atLeast, atMost)
	}
}

func TestBreakerOpensAndClosesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, log := guard(t, small)
		s.answer(broken)
		wantOutcome(t, calls(t, g, 4), workflow.RetryLater, workflow.EffectMaybe, "")
		wantRefused(t, calls(t, g, 1), 10*time.Second, 12500*time.Millisecond)
		<-time.After(9 * time.Second)
		wantRefused(t, calls(t, g, 100), 2*time.Second, 3500*time.Millisecond)
		if n := s.calls.Load(); n != 4 {
			t.Errorf("%d calls came through an open breaker", n-4)
		}
		<-time.After(4 * time.Second)
		calls(t, g, 100) // one of them is made, and fails
		if n := s.calls.Load(); n != 5 {
			t.Errorf("%d probes after the delay, want 1", n-4)
		}
		<-time.After(13 * time.Second)
		s.answer(fine)
		if o := calls(t, g, 100); o.Status != 200 || s.calls.Load() != 105 {
			t.Errorf("got %+v after %d calls, want that all are made", o, s.calls.Load())
		}
		var states []string
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "backend=b ") {
				t.Errorf("no backend in %s", line)
			}
			_, state, _ := strings.Cut(strings.TrimSpace(line), "state=")
			states = append(states, state)
		}
		if want := []string{"open", "half-open", "open", "half-open", "closed"}; !slices.Equal(states, want) {
			t.Errorf("logged %v, want %v", states, want)
		}
	})
}

// Ensure that it is told how long a breaker has been open, over all the tries
// whether it can close.
func TestHowLongABreakerIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, log := guard(t, small)
		wantOpen := func(want time.Duration) {
			t.Helper()
			if open := g.Open(); len(open) != 1 || open["b"] != want {
				t.Errorf("open for %v, want %v", open, want)
			}
		}
		if open := g.Open(); len(open) != 0 {
			t.Errorf("before the first call: %v", open)
		}
		calls(t, g, 1)
		wantOpen(0)
		s.answer(broken)
		calls(t, g, 4)
		for range 3 { // the delay is 12.5 s at most
			<-time.After(15 * time.Second)
			calls(t, g, 1)
		}
		wantOpen(45 * time.Second)
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "duration.ms=45000 from=half-open state=open") {
			t.Errorf("the log does not say for how long:\n%s", log)
		}
		<-time.After(15 * time.Second)
		s.answer(fine)
		calls(t, g, 1)
		wantOpen(time.Minute) // one more must succeed
		calls(t, g, 1)
		wantOpen(0)
		if !strings.Contains(log.String(), "duration.ms=60000 from=half-open state=closed") {
			t.Errorf("the log does not say how long it was open:\n%s", log)
		}
		s.answer(broken)
		calls(t, g, 4)
		<-time.After(time.Second)
		wantOpen(time.Second)
	})
}

// Ensure that only what looks like an outage opens the breaker.
func TestWhatOpensTheBreaker(t *testing.T) {
	status := func(code int) workflow.Outcome { return classify(answer{status: code}, now) }
	word := func(code int) workflow.Outcome {
		return classify(answer{status: code, header: http.Header{"Content-Type": {problem.ContentType}}, body: []byte(`{"type":"x"}`)}, now)
	}
	for name, tc := range map[string]struct {
		o     workflow.Outcome
		opens bool
	}{
		"200":                {status(200), false},
		"404":                {word(404), false},
		"409":                {word(409), false},
		"410":                {word(410), false},
		"429":                {status(429), false},
		"408":                {status(408), true},
		"a stopped app":      {status(403), true},
		"no such app":        {status(404), true},
		"500":                {status(500), true},
		"503":                {status(503), true},
		"no connection":      {notSent(codeNotSent, errTooLarge), true},
		"no answer in time":  {unknown(0, codeTimeout, errTooLarge), true},
		"broken off":         {unknown(0, codeBroken, errTooLarge), true},
		"200, no JSON in it": {unknown(200, codeUnreadable, errTooLarge), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s, _ := guard(t, small)
				s.answer(tc.o)
				if o := calls(t, g, 5); (o.Type == codeOpen) != tc.opens {
					t.Errorf("got %+v, want that it opens: %v", o, tc.opens)
				}
			})
		})
	}
}

func TestFewOrOldFailuresDoNotOpenTheBreaker(t *testing.T) {
	for name, fail := range map[string]func(t *testing.T, g *Guard, s *service){
		"too few": func(t *testing.T, g *Guard, s *service) {
			s.answer(broken)
			calls(t, g, 3)
		},
		"too small a share": func(t *testing.T, g *Guard, s *service) {
			calls(t, g, 5)
			s.answer(broken)
			calls(t, g, 4)
		},
		"too long ago": func(t *testing.T, g *Guard, s *service) {
			s.answer(broken)
			calls(t, g, 3)
			<-time.After(11 * time.Second)
			calls(t, g, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s, _ := guard(t, small)
				fail(t, g, s)
				s.answer(fine)
				if o := calls(t, g, 1); o.Type == codeOpen {
					t.Errorf("the breaker is open: %+v", o)
				}
			})
		})
	}
}

// open opens the breaker of g, and waits until it lets probes through, which s
// holds back.
func open(t *testing.T, g *Guard, s *service) {
	t.Helper()
	s.answer(broken)
	calls(t, g, 4)
	<-time.After(13 * time.Second)
	s.calls.Store(0)
	s.hold = make(chan struct{})
}

func TestOnlyProbesGoThroughAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, small)
		open(t, g, s)
		s.answer(fine)
		outcomes := make([]workflow.Outcome, 4)
		var wg sync.WaitGroup
		for i := range outcomes {
			wg.Go(func() { outcomes[i] = g.Do(t.Context(), put("{}")) })
		}
		synctest.Wait()
		if n := s.calls.Load(); n != 2 {
			t.Errorf("%d probes at a time, want 2", n)
		}
		wantRefused(t, calls(t, g, 1), 2*time.Second, 2*time.Second)
		close(s.hold)
		wg.Wait()
		refused := slices.DeleteFunc(outcomes, func(o workflow.Outcome) bool { return o.Status == 200 })
		if len(refused) != 2 {
			t.Errorf("%d of 4 were refused, want 2", len(refused))
		}
		if o := calls(t, g, 1); o.Status != 200 {
			t.Errorf("not closed after two good probes: %+v", o)
		}
	})
}

// Ensure that probes whose callers give up don't close the breaker, nor keep
// their places.
func TestCallersGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, small)
		open(t, g, s)
		giveUp := func(n int) {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() { g.Do(ctx, put("{}")) })
			}
			synctest.Wait()
			cancel()
			wg.Wait()
		}
		giveUp(2)
		if n := s.calls.Load(); n != 2 {
			t.Fatalf("%d probes", n)
		}
		wantRefused(t, calls(t, g, 1), 10*time.Second, 12500*time.Millisecond)
		<-time.After(13 * time.Second)
		s.hold = nil
		s.answer(fine)
		if o := calls(t, g, 5); o.Status != 200 {
			t.Errorf("not closed: %+v", o)
		}
		s.hold = make(chan struct{})
		for range 5 {
			giveUp(4)
		}
		close(s.hold)
		if o := calls(t, g, 1); o.Status != 200 {
			t.Errorf("callers that gave up have opened the breaker: %+v", o)
		}
	})
}

func TestBackendsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, small)
		s.answer(broken)
		calls(t, g, 4)
		undo := put("")
		undo.Undo = true
		if o := g.Do(t.Context(), undo); o.Type != codeOpen {
			t.Errorf("the undo is called: %+v", o)
		}
		other := put("{}")
		other.Call.Backend = "other"
		if o := g.Do(t.Context(), other); o.Type == codeOpen {
			t.Errorf("the other backend is refused: %+v", o)
		}
	})
}

func TestConcurrencyIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, small)
		s.hold = make(chan struct{})
		var wg sync.WaitGroup
		fill := func() {
			for range 4 {
				wg.Go(func() { g.Do(t.Context(), put("{}")) })
			}
			synctest.Wait()
		}
		fill()
		begun := time.Now()
		wantOutcome(t, g.Do(t.Context(), put("{}")), workflow.RetryLater, workflow.EffectNo, "busy")
		if took := time.Since(begun); took != time.Second {
			t.Errorf("waited %v for a place, want half of the call's time", took)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wantOutcome(t, g.Do(short, put("{}")), workflow.RetryLater, workflow.EffectNo, "busy")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		wantOutcome(t, g.Do(gone, put("{}")), workflow.RetryLater, workflow.EffectNo, "cancelled")
		other := put("{}")
		other.Call.Backend = "other"
		wg.Go(func() { g.Do(t.Context(), other) })
		synctest.Wait()
		if n := s.calls.Load(); n != 5 {
			t.Errorf("%d calls are under way, want 4 and the other backend's", n)
		}
		wg.Go(func() { // a place comes free while it waits
			if o := g.Do(t.Context(), put("{}")); o.Status != 200 {
				t.Errorf("got %+v", o)
			}
		})
		synctest.Wait()
		close(s.hold)
		wg.Wait()
	})
}

// Ensure that the wait for a place is part of the call's time: otherwise a call
// from before the opening could be taken for a probe.
func TestTheWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, Limits{Concurrency: 1})
		s.hold = make(chan struct{})
		first, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { g.Do(first, put("{}")) })
		synctest.Wait()
		begun := time.Now()
		wantOutcome(t, g.Do(t.Context(), put("{}")), workflow.RetryLater, workflow.EffectMaybe, "timeout")
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v, want the call's time", took)
		}
		wg.Wait()
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	g, s, _ := guard(t, Limits{Concurrency: 8})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 200 {
				req := put("{}")
				req.Call.Backend = fmt.Sprint("b", (i+n)%3)
				if n == 20 {
					s.answer(broken)
				}
				g.Do(t.Context(), req)
			}
		})
	}
	wg.Wait()
	if s.calls.Load() == 0 {
		t.Error("no calls")
	}
	for name, b := range g.backends {
		if !b.breaker.IsOpen() {
			t.Errorf("the breaker of %s is %v", name, b.breaker.State())
		}
	}
}

// Ensure a backend has as many places as it is given, and the others as many as all.
func TestOwnConcurrency(t *testing.T) {
	for name, places := range map[string]int{"b": 2, "other": 4} {
		synctest.Test(t, func(t *testing.T) {
			l := small
			l.Own = map[string]uint{"b": 2}
			g, s, _ := guard(t, l)
			s.hold = make(chan struct{})
			var wg sync.WaitGroup
			for range 6 {
				a := put("{}")
				a.Call.Backend = name
				wg.Go(func() { g.Do(t.Context(), a) })
			}
			synctest.Wait()
			if n := int(s.calls.Load()); n != places {
				t.Errorf("%d calls to %s are under way, want %d", n, name, places)
			}
			close(s.hold)
			wg.Wait()
		})
	}
}

// Ensure an attempt has its time once: what it waits for a place is not the call's.
func TestWaitingIsPartOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, _ := guard(t, Limits{Concurrency: 1})
		s.hold = make(chan struct{})
		first := put("{}")
		first.Timeout = 3 * time.Second
		var wg sync.WaitGroup
		wg.Go(func() { g.Do(t.Context(), first) })
		synctest.Wait()
		began := time.Now()
		second := put("{}")
		second.Timeout = 8 * time.Second
		wantOutcome(t, g.Do(t.Context(), second), workflow.RetryLater, workflow.EffectMaybe, "timeout")
		if took := time.Since(began); took != second.Timeout {
			t.Errorf("it took %v, want %v", took, second.Timeout)
		}
		wg.Wait()
	})
}
