package ingest

import (
	"context"
	"errors"
	"fmt"
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

func TestOneTransactionStaysInOnePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeProducer("0", "1", "2", "3")
		w := NewWriter(p, Limits{}, nil)
		for i := range 400 {
			if err := w.Append(t.Context(), event(fmt.Sprintf("key %d", i%100))); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, w)
		seen := map[string]string{}
		for id, batches := range p.batches {
			if len(batches) < 50 {
				t.Errorf("partition %s has %d of 400 events, want about 100", id, len(batches))
			}
			for _, b := range batches {
				key := b[0].PartitionKey
				if other, ok := seen[key]; ok && other != id {
					t.Errorf("key %s is in partitions %s and %s", key, other, id)
				}
				seen[key] = id
			}
		}
	})
}

// The mapping must not change between versions of this code while both run.
func TestPartitionIsStable(t *testing.T) {
	for key, want := range map[string]int{
		"":                                     37 % 32,
		"a":                                    12,
		"01890a5d-ac96-774b-bcce-b302099a8057": 19,
	} {
		if got := partition(key, 32); got != want {
			t.Errorf("partition of %q: %d, want %d", key, got, want)
		}
	}
}
