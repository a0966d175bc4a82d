package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Event is an event for the hub.
type Event struct {
	TransactionID string
	Body          []byte
	TraceParent   string
}

// Producer puts events into the hub.
type Producer interface {
	// Partitions returns the ids of the hub's partitions.
	Partitions(ctx context.Context) ([]string, error)
	// Send puts events into a partition, in their order. It returns nil when
	// the hub has acknowledged all of them; otherwise any of them may have
	// been taken. It keeps nothing of events.
	Send(ctx context.Context, partition string, events []Event) error
}

// Limits are the limits of a Writer. Zero fields take their defaults.
type Limits struct {
	// Events and Bytes end a batch: 500 events, 256 KiB of bodies.
	Events, Bytes int
	// Linger is how long an event waits for company at most, if others came before
	// it: 0. While one batch is in flight the next one gathers anyway, and what comes
	// alone is sent at once.
	Linger time.Duration
	// BufferEvents and BufferBytes bound what waits, what is in flight not
	// counted: 5000 events, 16 MiB.
	BufferEvents, BufferBytes int
	// Timeout is how long a batch may take: 10 s.
	Timeout time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Events, 500)
	set(&l.Bytes, 256<<10)
	set(&l.BufferEvents, 5000)
	set(&l.BufferBytes, 16<<20)
	if l.Timeout <= 0 {
		l.Timeout = 10 * time.Second
	}
	return l
}

// Flush describes a batch that was sent, for metrics.
type Flush struct {
	Partition     string
	Events, Bytes int
	Took          time.Duration
	Err           error
}

// Writer puts many callers' events into the hub with few sends: a group commit.
// Its batches go to one partition after the other, whatever they are about (see
// docs/adr/0001-few-and-full-batches.md), and nearly always one at a time; see
// due. It is safe for concurrent use. Close must be called.
type Writer struct {
	producer Producer
	limits   Limits
	observe  func(Flush)

	// sends is the context of every send; it ends when Close runs out of time.
	sends  context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	waiters sync.Pool // of *waiter

	mu      sync.Mutex
	opening *opening // nil when nobody is reading the partitions
	places  []place  // nil until they are known
	turn    int      // the place that is next
	waiting batch    // what is not in flight yet, the oldest first
	spare   batch    // empty, to be used again
	lanes   int      // how many batches are in flight
	closed  bool
	// accompanied tells that the last batch had several events, or that others came
	// while it was in flight: so company is to be expected.
	accompanied bool
	timer       *time.Timer // calls look
	alarm       time.Time   // what the timer was last set to
}

// opening is one attempt to read the partitions, for all who wait for them.
type opening struct {
	done chan struct{}
	err  error // set when done is closed
}

// NewWriter returns a Writer. observe is called after every send and must not
// block; nil observes nothing. The partitions are read when they are first
// needed.
func NewWriter(p Producer, l Limits, observe func(Flush)) *Writer {
	if observe == nil {
		observe = func(Flush) {}
	}
	w := &Writer{producer: p, limits: l.withDefaults(), observe: observe}
	w.sends, w.cancel = context.WithCancel(context.Background())
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop() // until there is something to look at
	return w
}

// Append puts an event into the hub and returns when the hub has acknowledged
// it. It fails with ErrBusy or ErrClosed at once, when the event was not taken;
// with ErrUnacknowledged when it may have been; with the kind Invalid for an
// event that is too large.
func (w *Writer) Append(ctx context.Context, e Event) error {
	if len(e.Body) > w.limits.Bytes {
		return failure.New(failure.Invalid, "accept request", e.TransactionID,
			fmt.Errorf("the event has %d bytes, more than %d", len(e.Body), w.limits.Bytes))
	}
	if err := w.Ready(ctx); err != nil {
		return err
	}
	who, err := w.add(e)
	if err != nil {
		return err
	}
	select {
	case err := <-who.done:
		w.waiters.Put(who) // nobody else knows it any more
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnacknowledged, context.Cause(ctx))
	}
}

// Ready reads the partitions if that has not been done, and fails if it can't
// be; Append does so, too. All who come while the partitions are read get the
// result of that one attempt, so that an unreachable hub does not make them wait in
// a row.
func (w *Writer) Ready(ctx context.Context) error {
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return ErrClosed
	case w.places != nil:
		w.mu.Unlock()
		return nil
	case w.opening == nil:
		w.opening = &opening{done: make(chan struct{})}
		o := w.opening
		w.wg.Go(func() { w.readPartitions(o) })
	}
	o := w.opening
	w.mu.Unlock()
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return failure.New(failure.Transient, "open writer", "", context.Cause(ctx))
	}
}

// readPartitions asks for the partitions. It is bounded by the Writer's
// own limits, not by those of the caller that happened to come first.
func (w *Writer) readPartitions(o *opening) {
	defer close(o.done)
	ctx, cancel := context.WithTimeout(w.sends, w.limits.Timeout)
	defer cancel()
	ids, err := w.producer.Partitions(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("read partitions: %w: %w", errUntaken, err)
	case len(ids) == 0:
		err = failure.New(failure.Permanent, "open writer", "", fmt.Errorf("the hub has no partitions: %w", errUntaken))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opening = nil
	if w.closed {
		err = ErrClosed
	}
	if o.err = err; err != nil {
		return
	}
	for _, id := range ids {
		w.places = append(w.places, place{id: id})
	}
	w.turn = rand.IntN(len(ids)) // instances that begin together go different ways
}

// Waiting tells how many events wait, and for how many there is room.
func (w *Writer) Waiting() (events, room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting.events), w.limits.BufferEvents
}

// Close takes no more events, sends those that wait and returns when all
// results are in. When ctx ends first, the sends are given up: their callers
// get ErrUnacknowledged, and Close returns the cause.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.start(time.Now())
	if w.places == nil {
		w.cancel() // nothing is sent, and nobody needs the partitions any more
	}
	w.mu.Unlock()
	stop := context.AfterFunc(ctx, w.cancel)
	w.wg.Wait()
	w.timer.Stop()
	defer w.cancel()
	if !stop() {
		return fmt.Errorf("close writer: %w", context.Cause(ctx))
	}
	return nil
}
