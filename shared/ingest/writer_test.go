package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

func event(key string) Event {
	return Event{TransactionID: key, Body: []byte(key)}
}

// appendAll appends the events at once, in order, and returns their results.
func appendAll(ctx context.Context, w *Writer, events ...Event) []chan error {
	results := make([]chan error, len(events))
	for i, e := range events {
		results[i] = make(chan error, 1)
		go func() { results[i] <- w.Append(ctx, e) }()
		synctest.Wait() // so that they queue in this order
	}
	return results
}

func events(n int) []Event {
	out := make([]Event, n)
	for i := range out {
		out[i] = event(fmt.Sprintf("t%03d", i))
	}
	return out
}

func mustClose(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func wantAll(t *testing.T, results []chan error, want error) {
	t.Helper()
	for i, r := range results {
		if err := <-r; !errors.Is(err, want) {
			t.Errorf("result %d: %v, want %v", i, err, want)
		}
	}
}

func TestIdleWriterSendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = 10 * time.Millisecond
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		start := time.Now()
		if err := w.Append(t.Context(), event("a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != p.latency {
			t.Errorf("took %v, want one round trip of %v", took, p.latency)
		}
	})
}

func TestGathersWhileABatchIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = 10 * time.Millisecond
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		wantAll(t, appendAll(t.Context(), w, events(8)...), nil)
		if diff := cmp.Diff([]int{1, 7}, p.sizes("0")); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		var order []string
		for _, b := range p.batches["0"] {
			for _, e := range b {
				order = append(order, e.TransactionID)
			}
		}
		if !slices.IsSorted(order) {
			t.Errorf("order %v, want that of the calls", order)
		}
		if p.overlaps != 0 {
			t.Errorf("%d sends of one partition overlapped", p.overlaps)
		}
	})
}

func TestBatchEndsAtItsLimits(t *testing.T) {
	cases := []struct {
		name   string
		limits Limits
		want   []int
	}{
		{"events", Limits{Events: 3}, []int{1, 3, 3, 1}},
		{"bytes", Limits{Bytes: 10}, []int{1, 2, 2, 2, 1}}, // each body has 4 bytes
		{"both", Limits{Events: 4, Bytes: 12}, []int{1, 3, 3, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeProducer("0")
				p.latency = time.Millisecond
				w := NewWriter(p, c.limits, nil)
				defer mustClose(t, w)
				wantAll(t, appendAll(t.Context(), w, events(8)...), nil)
				if diff := cmp.Diff(c.want, p.sizes("0")); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Ensure that events wait for company once there was some, no longer than they may,
// and not when they come alone again.
func TestLingerWaitsForCompany(t *testing.T) {
	const linger, flight = 25 * time.Millisecond, 10 * time.Millisecond
	cases := []struct {
		name   string
		limits Limits
		every  time.Duration // between two events
		events int
		want   []int // sizes of the batches
		took   time.Duration
	}{
		{"one after the other", Limits{Linger: linger}, 2 * flight, 4, []int{1, 1, 1, 1}, 7 * flight},
		{"until time is up", Limits{Linger: linger}, 4 * time.Millisecond, 9, []int{1, 7, 1}, 32*time.Millisecond + linger + flight},
		{"until there is company", Limits{Linger: linger}, time.Millisecond, 31, []int{1, 10, 10, 10}, 30*time.Millisecond + flight},
		{"until enough events", Limits{Linger: linger, Events: 4}, 4 * time.Millisecond, 5, []int{1, 4}, 16*time.Millisecond + flight},
		{"until enough bytes", Limits{Linger: linger, Bytes: 16}, 4 * time.Millisecond, 5, []int{1, 4}, 16*time.Millisecond + flight},
		{"not at all", Limits{}, 4 * time.Millisecond, 5, []int{1, 2, 2}, 3 * flight},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeProducer("0")
				p.latency = flight
				w := NewWriter(p, c.limits, nil)
				defer mustClose(t, w)
				start := time.Now()
				var results []chan error
				for i := range c.events {
					time.Sleep(time.Until(start.Add(time.Duration(i) * c.every)))
					results = append(results, appendAll(t.Context(), w, event(fmt.Sprintf("t%03d", i)))...)
				}
				wantAll(t, results, nil)
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if diff := cmp.Diff(c.want, p.sizes("0")); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestEveryCallerGetsItsOwnBatchsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = time.Millisecond
		lost := failure.New(failure.Transient, "send", "", errors.New("connection lost"))
		p.onSend = func(_ context.Context, _ string, events []Event) error {
			if events[0].TransactionID == "t003" { // the third batch
				return lost
			}
			return nil
		}
		w := NewWriter(p, Limits{Events: 2}, nil)
		defer mustClose(t, w)
		results := appendAll(t.Context(), w, events(7)...)
		for i, r := range results {
			err := <-r
			failed := i == 3 || i == 4
			if failed && (!errors.Is(err, ErrUnacknowledged) || !errors.Is(err, lost)) {
				t.Errorf("event %d: %v, want unacknowledged because of the send's error", i, err)
			}
			if !failed && err != nil {
				t.Errorf("event %d: %v", i, err)
			}
		}
	})
}

func TestPermanentFailureKeepsItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.onSend = func(context.Context, string, []Event) error {
			return failure.New(failure.Permanent, "send", "", errors.New("refused"))
		}
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		err := w.Append(t.Context(), event("a"))
		if !failure.Is(err, failure.Permanent) || errors.Is(err, ErrUnacknowledged) {
			t.Errorf("got %v, want the permanent failure itself", err)
		}
	})
}

func TestFullBufferRefusesAtOnce(t *testing.T) {
	cases := []struct {
		name   string
		limits Limits
	}{
		{"events", Limits{BufferEvents: 3}},
		{"bytes", Limits{BufferBytes: 12}}, // each body has 4 bytes
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeProducer("0")
				p.latency = time.Hour
				c.limits.Timeout = 2 * time.Hour
				w := NewWriter(p, c.limits, nil)
				defer mustClose(t, w)
				results := appendAll(t.Context(), w, events(4)...) // one in flight, three wait
				start := time.Now()
				err := w.Append(t.Context(), event("late"))
				if !errors.Is(err, ErrBusy) || failure.RetryAfter(err) <= 0 || time.Since(start) != 0 {
					t.Errorf("got %v after %v, want ErrBusy with a delay at once", err, time.Since(start))
				}
				wantAll(t, results, nil)
				if err := w.Append(t.Context(), event("next")); err != nil {
					t.Errorf("after the buffer has emptied: %v", err)
				}
			})
		})
	}
}

func TestEndOfContextWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = time.Second
		w := NewWriter(p, Limits{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := w.Append(ctx, event("a"))
		if !errors.Is(err, ErrUnacknowledged) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrUnacknowledged with the cause", err)
		}
		mustClose(t, w)
		if diff := cmp.Diff([]int{1}, p.sizes("0")); diff != "" {
			t.Errorf("the event was taken all the same (-want +got):\n%s", diff)
		}
	})
}

func TestSendIsGivenUpAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = time.Hour
		w := NewWriter(p, Limits{Timeout: time.Second}, nil)
		defer mustClose(t, w)
		start := time.Now()
		err := w.Append(t.Context(), event("a"))
		if !errors.Is(err, ErrUnacknowledged) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want ErrUnacknowledged after a second", err, time.Since(start))
		}
	})
}

func TestTooLargeEventIsRefusedAlone(t *testing.T) {
	p := newFakeProducer("0")
	w := NewWriter(p, Limits{Bytes: 100}, nil)
	defer mustClose(t, w)
	large := Event{TransactionID: "a", Body: []byte(strings.Repeat("x", 101))}
	if err := w.Append(t.Context(), large); !failure.Is(err, failure.Invalid) {
		t.Errorf("got %v, want an invalid request", err)
	}
}

func TestCloseFlushesAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1")
		p.latency = time.Second
		w := NewWriter(p, Limits{Linger: time.Minute}, nil)
		results := appendAll(t.Context(), w, events(20)...)
		start := time.Now()
		mustClose(t, w)
		if took := time.Since(start); took != p.latency {
			t.Errorf("close took %v, want one round trip of %v without lingering", took, p.latency)
		}
		wantAll(t, results, nil)
		if err := w.Append(t.Context(), event("late")); !errors.Is(err, ErrClosed) {
			t.Errorf("append after close: %v", err)
		}
		mustClose(t, w) // twice is once
	})
}

func TestCloseOutOfTimeGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = time.Hour
		w := NewWriter(p, Limits{Timeout: 2 * time.Hour}, nil)
		results := appendAll(t.Context(), w, events(3)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v, want the end of its time", err)
		}
		wantAll(t, results, ErrUnacknowledged)
	})
}

func TestCloseBeforeOpen(t *testing.T) {
	w := NewWriter(newFakeProducer("0"), Limits{}, nil)
	mustClose(t, w)
	if err := w.Ready(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("ready after close: %v", err)
	}
}

func TestObserveTellsOfEverySend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.latency = time.Millisecond
		var mu sync.Mutex
		var seen []Flush
		w := NewWriter(p, Limits{}, func(f Flush) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, f)
		})
		wantAll(t, appendAll(t.Context(), w, events(3)...), nil)
		mustClose(t, w)
		want := []Flush{
			{Partition: "0", Events: 1, Bytes: 4, Took: p.latency},
			{Partition: "0", Events: 2, Bytes: 8, Took: p.latency},
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("flushes (-want +got):\n%s", diff)
		}
	})
}

// Many callers at once, some of whom leave: every acknowledged event is in the
// hub once, and nothing is there twice.
func TestManyCallers(t *testing.T) {
	p := newFakeProducer("0", "1", "2")
	p.latency = time.Millisecond
	w := NewWriter(p, Limits{Events: 16, BufferEvents: 64}, nil)
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var wg sync.WaitGroup
	for c := range 50 {
		wg.Go(func() {
			for i := range 20 {
				key := fmt.Sprintf("%d-%d", c, i)
				ctx, cancel := context.WithCancel(t.Context())
				if (c+i)%7 == 0 {
					cancel()
				}
				if w.Append(ctx, event(key)) == nil {
					mu.Lock()
					acknowledged[key] = true
					mu.Unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	mustClose(t, w)
	count := map[string]int{}
	for _, batches := range p.batches {
		for _, b := range batches {
			for _, e := range b {
				count[e.TransactionID]++
			}
		}
	}
	for key := range acknowledged {
		if count[key] != 1 {
			t.Errorf("acknowledged event %s is in the hub %d times", key, count[key])
		}
	}
	for key, n := range count {
		if n > 1 {
			t.Errorf("event %s is in the hub %d times", key, n)
		}
	}
	if len(acknowledged) == 0 || p.overlaps != 0 {
		t.Errorf("%d acknowledged, %d overlapping sends", len(acknowledged), p.overlaps)
	}
}
