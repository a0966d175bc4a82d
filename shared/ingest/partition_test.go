package ingest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

func TestPartitionsAreReadOnceWhenTheyCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		down := failure.New(failure.Transient, "read partitions", "", errors.New("down"))
		p.onPartitions = func(context.Context) error { return down }
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		if err := w.Append(t.Context(), event("a")); !errors.Is(err, down) || errors.Is(err, ErrUnacknowledged) {
			t.Errorf("append without a hub: %v, want that it was not taken", err)
		}
		p.onPartitions = nil
		wantAll(t, appendAll(t.Context(), w, events(5)...), nil)
		if p.reads != 2 {
			t.Errorf("%d reads of the partitions, want 2: one failed, one did not", p.reads)
		}
	})
}

func TestOpeningCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		release := make(chan struct{})
		p.onPartitions = func(context.Context) error { <-release; return nil }
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		first := make(chan error, 1)
		go func() { first <- w.Append(t.Context(), event("a")) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Append(ctx, event("b")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnacknowledged) {
			t.Errorf("second caller: %v, want the end of its time", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("first caller: %v", err)
		}
	})
}

func TestAllWhoWaitShareOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		down := failure.New(failure.Transient, "read partitions", "", errors.New("down"))
		answer := make(chan struct{})
		p.onPartitions = func(context.Context) error { <-answer; return down }
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		gone, leave := context.WithCancel(t.Context())
		results := append(appendAll(gone, w, event("leaves")), appendAll(t.Context(), w, events(100)...)...)
		leave() // who comes first does not decide for the others
		if err := <-results[0]; !errors.Is(err, context.Canceled) {
			t.Errorf("the first: %v", err)
		}
		answered := time.Now()
		close(answer)
		wantAll(t, results[1:], down)
		if took := time.Since(answered); took > 0 || p.reads != 1 {
			t.Errorf("took %v after the answer, and %d reads; want one", took, p.reads)
		}
	})
}

func TestCloseWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0")
		p.onPartitions = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w := NewWriter(p, Limits{}, nil)
		result := appendAll(t.Context(), w, event("a"))
		begun := time.Now()
		mustClose(t, w)
		wantAll(t, result, ErrClosed)
		if took := time.Since(begun); took > 0 {
			t.Errorf("close took %v", took)
		}
	})
}

func TestHubWithoutPartitions(t *testing.T) {
	w := NewWriter(newFakeProducer(), Limits{}, nil)
	defer mustClose(t, w)
	if err := w.Ready(t.Context()); !failure.Is(err, failure.Permanent) {
		t.Errorf("got %v, want a permanent failure", err)
	}
}

// Ensure that one lane sends everything, to each partition as much, and that another
// one opens for a full batch alone.
func TestLanesOpenForFullBatches(t *testing.T) {
	for name, c := range map[string]struct {
		events, want int // in flight at once
	}{
		"half a batch waits":  {1 + 5, 1},
		"one batch waits":     {1 + 10, 2},
		"two batches wait":    {1 + 20, 3},
		"more than there are": {1 + 100, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeProducer("0", "1", "2", "3")
				p.latency = patience / 2
				w := NewWriter(p, Limits{Events: 10}, nil)
				defer mustClose(t, w)
				results := appendAll(t.Context(), w, events(c.events)...)
				if got := p.sending(); len(got) != c.want {
					t.Errorf("sends to partitions %v, want to %d", got, c.want)
				}
				wantAll(t, results, nil)
				if p.overlaps != 0 {
					t.Errorf("%d sends of one partition overlapped", p.overlaps)
				}
			})
		})
	}
}

func TestPartitionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1", "2", "3")
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		for _, e := range events(400) {
			if err := w.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range p.partitions {
			if got := len(p.sizes(id)); got != 100 {
				t.Errorf("partition %s has %d of 400 batches, want 100", id, got)
			}
		}
	})
}

// Ensure that what one partition refuses goes to another one, and that the first is
// left alone for a while.
func TestAnotherPartitionWhenOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1", "2")
		tries := 0
		p.onSend = func(_ context.Context, partition string, _ []Event) error {
			if partition == "1" {
				tries++
				return failure.New(failure.Transient, "send", partition, errors.New("server busy"))
			}
			return nil
		}
		w := NewWriter(p, Limits{}, nil)
		defer mustClose(t, w)
		send := func() {
			for _, e := range events(30) {
				if err := w.Append(t.Context(), e); err != nil {
					t.Errorf("event %s: %v", e.TransactionID, err)
				}
			}
		}
		send()
		if tries != 1 {
			t.Errorf("the partition was tried %d times within its rest, want 1", tries)
		}
		time.Sleep(rest)
		send()
		if tries != 2 {
			t.Errorf("the partition was tried %d times, want once more after its rest", tries)
		}
	})
}

// Ensure that a partition that hangs holds up nobody but the callers of its batch.
func TestHangingPartitionHoldsUpItsBatchAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1")
		p.onSend = func(ctx context.Context, partition string, _ []Event) error {
			if partition == "1" {
				<-ctx.Done()
				return failure.New(failure.Transient, "send", partition, ctx.Err())
			}
			return nil
		}
		w := NewWriter(p, Limits{Timeout: 10 * time.Second}, nil)
		defer mustClose(t, w)
		mustReady(t, w)
		w.turn = 1
		results := appendAll(t.Context(), w, events(3)...)
		start := time.Now()
		wantAll(t, results[1:], nil)
		if took := time.Since(start); took != patience {
			t.Errorf("those behind waited for %v, want %v", took, patience)
		}
		wantAll(t, results[:1], ErrUnacknowledged)
	})
}

func mustReady(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}
