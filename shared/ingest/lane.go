package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// lane sends the events of one partition. Its goroutine takes what has gathered
// whenever the previous batch is done.
type lane struct {
	partition string
	w         *Writer

	mu      sync.Mutex
	waiting []waiter
	bytes   int // of waiting
	closed  bool

	// changed has a token when the goroutine should look again.
	changed chan struct{}
}

// waiter is an event and where its caller waits for the result.
type waiter struct {
	event Event
	done  chan error // buffered: nobody may be there any more
}

func newLane(partition string, w *Writer) *lane {
	return &lane{partition: partition, w: w, changed: make(chan struct{}, 1)}
}

// add queues an event. The result comes through the channel.
func (l *lane) add(e Event) (<-chan error, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	limits := l.w.limits
	if len(l.waiting) >= limits.BufferEvents ||
		len(l.waiting) > 0 && l.bytes+len(e.Body) > limits.BufferBytes {
		return nil, ErrBusy
	}
	done := make(chan error, 1)
	l.waiting = append(l.waiting, waiter{e, done})
	l.bytes += len(e.Body)
	l.wake()
	return done, nil
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

func (l *lane) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// run sends batches until the lane is closed and empty.
func (l *lane) run() {
	for {
		if !l.gather() {
			return
		}
		l.flush(l.take())
	}
}

// gather waits until a batch is due. It returns false when there will be none.
func (l *lane) gather() bool {
	var linger <-chan time.Time
	for {
		n, full, closed := l.state()
		switch {
		case n == 0 && closed:
			return false
		case n > 0 && (full || closed || l.w.limits.Linger <= 0):
			return true
		case n > 0 && linger == nil:
			timer := time.NewTimer(l.w.limits.Linger)
			defer timer.Stop()
			linger = timer.C
		}
		select {
		case <-l.changed:
		case <-linger:
			return true
		}
	}
}

func (l *lane) state() (n int, full, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full = len(l.waiting) >= l.w.limits.Events || l.bytes >= l.w.limits.Bytes
	return len(l.waiting), full, l.closed
}

// take removes the next batch from what waits: at least one event, and not
// more than the limits allow.
func (l *lane) take() []waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, bytes := 0, 0
	for n < len(l.waiting) && n < l.w.limits.Events {
		size := len(l.waiting[n].event.Body)
		if n > 0 && bytes+size > l.w.limits.Bytes {
			break
		}
		n, bytes = n+1, bytes+size
	}
	batch := l.waiting[:n:n]
	// The rest moves to a new array when it next grows; the batch keeps this
	// one alive only as long as it is in flight.
	l.waiting = l.waiting[n:]
	l.bytes -= bytes
	return batch
}

// flush sends a batch and gives every waiter its result.
func (l *lane) flush(batch []waiter) {
	events := make([]Event, len(batch))
	bytes := 0
	for i, w := range batch {
		events[i] = w.event
		bytes += len(w.event.Body)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(l.w.sends, l.w.limits.Timeout)
	err := l.w.producer.Send(ctx, l.partition, events)
	cancel()
	l.w.observe(Flush{l.partition, len(events), bytes, time.Since(start), err})
	err = unacknowledged(err)
	for _, w := range batch {
		w.done <- err
	}
}

// unacknowledged turns a failed send into what its callers get. A transient
// failure leaves open whether the hub has the events.
func unacknowledged(err error) error {
	if err == nil || failure.KindOf(err) != failure.Transient {
		return err
	}
	return &failure.Error{
		Kind: failure.Transient, Op: "accept request",
		RetryAfter: max(failure.RetryAfter(err), failure.RetryAfter(ErrUnacknowledged)),
		Err:        fmt.Errorf("%w: %w", ErrUnacknowledged, err),
	}
}
