package auth

import (
	"context"
	"sync"
	"time"
)

// fetcher keeps something that is fetched over the network: by one attempt at a
// time, for all who wait for it, and in its own time, so that one who gives up
// takes it from nobody else. It is safe for concurrent use.
type fetcher[T any] struct {
	fetch    func(context.Context) (T, error)
	timeout  time.Duration // of an attempt
	now      func() time.Time
	closing  context.Context // ends the attempts
	end      context.CancelFunc
	attempts sync.WaitGroup

	mu     sync.Mutex
	value  T // of the latest attempt that succeeded
	at     time.Time
	latest *attempt // nil before the first
}

// attempt is one attempt. Its fields are set when done is closed.
type attempt struct {
	done  chan struct{}
	err   error
	ended time.Time
}

func newFetcher[T any](timeout time.Duration, now func() time.Time, fetch func(context.Context) (T, error)) *fetcher[T] {
	f := &fetcher[T]{fetch: fetch, timeout: timeout, now: now}
	f.closing, f.end = context.WithCancel(context.Background())
	return f
}

// get returns what was fetched last, and when; the zero values if nothing was.
func (f *fetcher[T]) get() (T, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.at
}

// refresh returns the attempt that is under way; or the latest one, if pause has
// not passed since it succeeded, or retry since it failed; or else a new one.
func (f *fetcher[T]) refresh(pause, retry time.Duration) *attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.latest; a != nil {
		select {
		case <-a.done:
			if a.err != nil {
				pause = retry
			}
			if f.now().Sub(a.ended) < pause {
				return a
			}
		default:
			return a
		}
	}
	a := &attempt{done: make(chan struct{})}
	if a.err = f.closing.Err(); a.err != nil {
		close(a.done)
		return a
	}
	f.latest = a
	f.attempts.Go(func() { f.run(a) })
	return a
}

func (f *fetcher[T]) run(a *attempt) {
	ctx, cancel := context.WithTimeout(f.closing, f.timeout)
	defer cancel()
	value, err := f.fetch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	a.err, a.ended = err, f.now()
	if err == nil {
		f.value, f.at = value, a.ended
	}
	close(a.done)
}

// wait returns the attempt's error once it has ended, or that of ctx.
func (a *attempt) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends an attempt under way and waits for it.
func (f *fetcher[T]) close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.attempts.Wait()
}
