package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

const (
	// company is how many events are worth a send of their own: a batch lingers for
	// no more.
	company = 10
	// patience is how long an event waits for the batches in flight before another
	// lane opens: a partition that hangs must not hold up the others.
	patience = time.Second
	// rest is how long a partition that failed is left alone.
	rest = 30 * time.Second
)

// place is a partition of the hub.
type place struct {
	id    string
	busy  bool      // a batch is in flight
	rests time.Time // until then, since it failed
	// refused tells that the hub has refused the latest batch: its link has ended.
	refused bool
}

// batch is what is sent in one go: the events, and who waits for each.
type batch struct {
	events  []Event
	waiters []*waiter
	bytes   int // of the events' bodies
}

// waiter is a caller that waits for the result of its event.
type waiter struct {
	since time.Time
	done  chan error // buffered: nobody may be there any more
}

func (b *batch) add(e Event, who *waiter) {
	b.events, b.waiters, b.bytes = append(b.events, e), append(b.waiters, who), b.bytes+len(e.Body)
}

// add puts an event into the buffer. The result comes to the waiter.
func (w *Writer) add(e Event) (*waiter, error) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.waiting.events)
	switch {
	case w.closed:
		return nil, ErrClosed
	case n >= w.limits.BufferEvents, n > 0 && w.waiting.bytes+len(e.Body) > w.limits.BufferBytes:
		return nil, ErrBusy
	}
	who, again := w.waiters.Get().(*waiter)
	if !again {
		who = &waiter{done: make(chan error, 1)}
	}
	who.since = now
	w.waiting.add(e, who)
	w.start(now)
	return who, nil
}

// start sends what is due, each batch on a lane of its own: a goroutine, since no
// caller could leave in time that sends for others. w.mu is held.
func (w *Writer) start(now time.Time) {
	for w.due(now) {
		p, b := w.free(now), w.take()
		p.busy = true
		w.lanes++
		w.wg.Go(func() { w.send(p, b) })
	}
}

// due reports whether a batch is to be sent now, and sees to it that it is sent
// later otherwise. There is one lane, which takes what has gathered meanwhile;
// another one opens for a full batch, or for what has waited for too long. w.mu is
// held.
func (w *Writer) due(now time.Time) bool {
	n, l := len(w.waiting.events), w.limits
	if n == 0 || w.lanes == len(w.places) {
		return false
	}
	if n >= l.Events || w.waiting.bytes >= l.Bytes || w.closed {
		return true
	}
	at := w.waiting.waiters[0].since
	switch {
	case w.lanes > 0:
		at = at.Add(patience)
	case w.accompanied && n < company:
		at = at.Add(l.Linger)
	}
	if !at.After(now) {
		return true
	}
	if !at.Equal(w.alarm) {
		w.alarm = at
		w.timer.Reset(at.Sub(now))
	}
	return false
}

// look is what the timer calls.
func (w *Writer) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start(time.Now())
}

// free returns the partition whose turn it is: each gets as many batches. One that
// has failed comes when no other is free. w.mu is held, and a partition is free.
func (w *Writer) free(now time.Time) *place {
	var found *place
	turn := w.turn
	for i := range w.places {
		at := (turn + i) % len(w.places)
		p := &w.places[at]
		if !p.busy && (found == nil || found.rests.After(now) && p.rests.Before(found.rests)) {
			found, w.turn = p, at+1
		}
	}
	return found
}

// take removes the next batch from what waits: at least one event, and not more
// than the limits allow. w.mu is held.
func (w *Writer) take() batch {
	n, bytes := 0, 0
	for _, e := range w.waiting.events[:min(len(w.waiting.events), w.limits.Events)] {
		if n > 0 && bytes+len(e.Body) > w.limits.Bytes {
			break
		}
		n, bytes = n+1, bytes+len(e.Body)
	}
	out := w.waiting
	w.waiting, w.spare = w.spare, batch{}
	for i := n; i < len(out.events); i++ {
		w.waiting.add(out.events[i], out.waiters[i])
	}
	clear(out.events[n:])
	clear(out.waiters[n:])
	return batch{out.events[:n], out.waiters[:n], bytes}
}

// send sends a batch, to another partition when the first one fails, and gives
// every waiter its result.
func (w *Writer) send(p *place, b batch) {
	ctx, cancel := context.WithTimeout(w.sends, w.limits.Timeout)
	defer cancel()
	refused := w.refused(p)
	err := w.flush(ctx, p, b)
	if errors.Is(err, ErrRefusing) {
		if refused { // a link that has ended takes nothing, and another was not opened
			err = fmt.Errorf("%w: %w", errUntaken, err)
		}
	} else if err != nil && failure.KindOf(err) == failure.Transient && ctx.Err() == nil {
		// The event may be in two partitions then: it has the same ids in both.
		if other := w.leave(p); other != p {
			p = other
			err = w.flush(ctx, p, b)
		}
	}
	cause := err
	err = unacknowledged(err)
	for _, who := range b.waiters {
		who.done <- err
	}
	w.ended(p, b, cause)
}

// refused reports whether the hub has refused the latest batch to a partition.
func (w *Writer) refused(p *place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.refused
}

func (w *Writer) flush(ctx context.Context, p *place, b batch) error {
	start := time.Now()
	err := w.producer.Send(ctx, p.id, b.events)
	w.observe(Flush{p.id, len(b.events), b.bytes, time.Since(start), err})
	return err
}

// leave returns another partition in place of one that has failed, or the same if
// no other is free.
func (w *Writer) leave(p *place) *place {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	p.rests = now.Add(rest)
	if other := w.free(now); other != nil {
		p.busy, other.busy = false, true
		return other
	}
	return p
}

// ended closes a lane, and opens it again if there is more to be sent.
func (w *Writer) ended(p *place, b batch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	p.busy, p.refused = false, errors.Is(err, ErrRefusing)
	if err != nil {
		p.rests = now.Add(rest)
	}
	w.lanes--
	w.accompanied = len(b.events) > 1 || len(w.waiting.events) > 0
	clear(b.events)
	clear(b.waiters)
	w.spare = batch{events: b.events[:0], waiters: b.waiters[:0]}
	w.start(now)
}

// unacknowledged turns a failed send into what its callers get. A transient
// failure leaves open whether the hub has the events.
func unacknowledged(err error) error {
	if err == nil || failure.KindOf(err) != failure.Transient || errors.Is(err, errUntaken) {
		return err
	}
	return &failure.Error{
		Kind: failure.Transient, Op: "accept request",
		RetryAfter: max(failure.RetryAfter(err), failure.RetryAfter(ErrUnacknowledged)),
		Err:        fmt.Errorf("%w: %w", ErrUnacknowledged, err),
	}
}
