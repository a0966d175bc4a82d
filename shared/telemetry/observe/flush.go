package observe

import (
	"sync"
	"sync/atomic"
	"time"
)

// FlushTime is how long the end of the last running invocation waits for its
// spans to be exported, at most.
const FlushTime = 100 * time.Millisecond

// flushEvery is the shortest time between two exports that ends of invocations
// ask for. Without it a slow stream of invocations, each of which is the last
// that runs, would make an export of each; services count them.
const flushEvery = time.Second

// flusher has everything exported when the last running invocation ends. Ends
// that come while an export is under way, or too soon after one, share the next.
type flusher struct {
	flush   func() // exports everything; nil when nothing is exported
	every   time.Duration
	running atomic.Int64
	// late is set when the latest export took longer than anybody waits: then
	// nobody does, so that a slow collector costs one answer its patience, not
	// each.
	late atomic.Bool
	stop chan struct{} // closed by close

	mu     sync.Mutex
	next   chan struct{} // closed when the next flush has ended; nil when none is asked for
	busy   bool          // run runs
	latest time.Time     // when a flush last began
	closed bool
	work   sync.WaitGroup
}

func newFlusher(flush func()) *flusher {
	return &flusher{flush: flush, every: flushEvery, stop: make(chan struct{})}
}

func (f *flusher) begin() { f.running.Add(1) }

// end asks for a flush if nothing runs any more, and waits for it if it is to
// and the flush begins at once.
func (f *flusher) end(wait bool) {
	if f.running.Add(-1) > 0 || f.flush == nil {
		return
	}
	done, atOnce := f.ask()
	if !wait || !atOnce || f.late.Load() {
		return
	}
	patience := time.NewTimer(FlushTime)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// ask returns a channel that is closed when a flush has ended which began after
// this call, and whether it begins at once.
func (f *flusher) ask() (done <-chan struct{}, atOnce bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false
	}
	if f.next == nil {
		f.next = make(chan struct{})
	}
	if f.busy {
		return f.next, false
	}
	f.busy = true
	f.work.Go(f.run)
	return f.next, time.Since(f.latest) >= f.every
}

// run flushes as long as it is asked to.
func (f *flusher) run() {
	for {
		f.mu.Lock()
		if f.next == nil || f.closed {
			f.busy = false
			f.mu.Unlock()
			return
		}
		pause := time.NewTimer(f.every - time.Since(f.latest))
		f.mu.Unlock()
		select {
		case <-pause.C:
		case <-f.stop: // who closes exports what is left
			pause.Stop()
			continue
		}
		f.mu.Lock()
		done := f.next
		f.next, f.latest = nil, time.Now()
		f.mu.Unlock()
		start := time.Now()
		f.flush()
		f.late.Store(time.Since(start) > FlushTime)
		close(done)
	}
}

// close ends the flushes. It is called once.
func (f *flusher) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	close(f.stop)
}

// wait returns when no flush runs.
func (f *flusher) wait() { f.work.Wait() }
