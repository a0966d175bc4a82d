package ingest

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Event is an event for the hub.
type Event struct {
	PartitionKey string // the TransactionID
	Body         []byte
	TraceParent  string
}

// Producer puts events into the hub.
type Producer interface {
	// Partitions returns the ids of the hub's partitions.
	Partitions(ctx context.Context) ([]string, error)
	// Send puts events into a partition, in their order. It returns nil when
	// the hub has acknowledged all of them; otherwise any of them may have
	// been taken.
	Send(ctx context.Context, partition string, events []Event) error
}

// Limits are the limits of a Writer. Zero fields take their defaults.
type Limits struct {
	// Events and Bytes end a batch: 500 events, 256 KiB of bodies.
	Events, Bytes int
	// Linger is how long an idle partition waits for company of the first
	// event: 0, so that an idle system answers after one round trip. While one
	// batch is in flight the next one gathers anyway.
	Linger time.Duration
	// BufferEvents and BufferBytes bound what waits per partition, what is in
	// flight not counted: 5000 events, 16 MiB.
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
// It owns one lane per partition; the events of one partition go out in order,
// one batch at a time. It is safe for concurrent use. Close must be called.
type Writer struct {
	producer Producer
	limits   Limits
	observe  func(Flush)

	// sends is the context of every send; it ends when Close runs out of time.
	sends  context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	lanes   []*lane  // nil until the partitions are known
	opening *opening // nil when nobody is reading them
	closed  bool
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
	return w
}

// Append puts an event into the hub and returns when the hub has acknowledged
// it. It fails with ErrBusy or ErrClosed at once, when the event was not taken;
// with ErrUnacknowledged when it may have been; with the kind Invalid for an
// event that is too large.
func (w *Writer) Append(ctx context.Context, e Event) error {
	if len(e.Body) > w.limits.Bytes {
		return failure.New(failure.Invalid, "accept request", e.PartitionKey,
			fmt.Errorf("the event has %d bytes, more than %d", len(e.Body), w.limits.Bytes))
	}
	lanes, err := w.open(ctx)
	if err != nil {
		return err
	}
	done, err := lanes[partition(e.PartitionKey, len(lanes))].add(e)
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnacknowledged, context.Cause(ctx))
	}
}

// Ready reads the partitions if that has not been done, and fails if it can't
// be. Append works without it.
func (w *Writer) Ready(ctx context.Context) error {
	_, err := w.open(ctx)
	return err
}

// partition is the index of the partition for a key. See
// docs/adr/0001-partition-by-own-hash.md for why it is chosen here.
func partition(key string, partitions int) int {
	h := fnv.New64a()
	h.Write([]byte(key)) // a hash takes everything
	return int(h.Sum64() % uint64(partitions))
}

// open returns the lanes, and opens them if nobody has. All who come while the
// partitions are read get the result of that one attempt, so that an unreachable
// hub does not make them wait in a row.
func (w *Writer) open(ctx context.Context) ([]*lane, error) {
	w.mu.Lock()
	switch {
	case w.closed:
		w.mu.Unlock()
		return nil, ErrClosed
	case w.lanes != nil:
		defer w.mu.Unlock()
		return w.lanes, nil
	case w.opening == nil:
		w.opening = &opening{done: make(chan struct{})}
		o := w.opening
		w.wg.Go(func() { w.readPartitions(o) })
	}
	o := w.opening
	w.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		return nil, failure.New(failure.Transient, "open writer", "", context.Cause(ctx))
	}
	if o.err != nil {
		return nil, o.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lanes, nil
}

// readPartitions makes a lane of each partition. It is bounded by the Writer's
// own limits, not by those of the caller that happened to come first.
func (w *Writer) readPartitions(o *opening) {
	defer close(o.done)
	ctx, cancel := context.WithTimeout(w.sends, w.limits.Timeout)
	defer cancel()
	ids, err := w.producer.Partitions(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("read partitions: %w", err)
	case len(ids) == 0:
		err = failure.New(failure.Permanent, "open writer", "", fmt.Errorf("the hub has no partitions"))
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
	for _, id := range slices.Sorted(slices.Values(ids)) {
		l := newLane(id, w)
		w.lanes = append(w.lanes, l)
		w.wg.Go(l.run)
	}
}

// Close takes no more events, sends those that wait and returns when all
// results are in. When ctx ends first, the sends are given up: their callers
// get ErrUnacknowledged, and Close returns the cause.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	lanes := w.lanes
	w.mu.Unlock()
	if lanes == nil {
		w.cancel() // nothing is sent, and nobody needs the partitions any more
	}
	for _, l := range lanes {
		l.close()
	}
	stop := context.AfterFunc(ctx, w.cancel)
	w.wg.Wait()
	defer w.cancel()
	if !stop() {
		return fmt.Errorf("close writer: %w", context.Cause(ctx))
	}
	return nil
}
