package auth

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Ensure that there is one attempt at a time, whoever asks, and that one who gives
// up takes it from nobody.
func TestOneAttemptAtATime(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{}, 10)
	f := newFetcher(time.Minute, time.Now, func(ctx context.Context) (string, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "value", nil
	})
	defer f.close()
	first := f.refresh(0, 0)
	<-begun
	for range 3 {
		if f.refresh(0, 0) != first {
			t.Fatal("a second attempt began")
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := first.wait(t.Context()); err != nil {
		t.Error(err)
	}
	if value, at := f.get(); value != "value" || at.IsZero() {
		t.Errorf("got %q of %v", value, at)
	}
	if f.refresh(time.Hour, 0) != first {
		t.Error("another attempt began within the pause")
	}
	if next := f.refresh(0, time.Hour); next == first || next.wait(t.Context()) != nil || len(begun) != 1 {
		t.Error("no other attempt began after the pause")
	}
}

// Ensure that a failure keeps what there is, and that its pause is its own.
func TestFailureKeepsTheValue(t *testing.T) {
	down := errors.New("down")
	var err error
	f := newFetcher(time.Minute, time.Now, func(context.Context) (string, error) { return "value", err })
	if err := f.refresh(0, 0).wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, at := f.get()
	err = down
	failed := f.refresh(0, 0)
	if err := failed.wait(t.Context()); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
	if value, still := f.get(); value != "value" || !still.Equal(at) {
		t.Errorf("got %q of %v", value, still)
	}
	if f.refresh(0, time.Hour) != failed {
		t.Error("another attempt began within the pause of a failure")
	}
	f.close()
	if err := f.refresh(0, 0).wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("after close: %v", err)
	}
}
