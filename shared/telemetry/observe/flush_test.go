package observe

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnlyTheLastInvocationFlushes(t *testing.T) {
	var flushes atomic.Int64
	f := newFlusher(func() { flushes.Add(1) })
	f.every = 0
	f.begin()
	f.begin()
	f.begin()
	f.end(true)
	f.end(true)
	f.wait()
	if n := flushes.Load(); n != 0 {
		t.Errorf("%d flushes while an invocation runs", n)
	}
	f.end(true)
	if n := flushes.Load(); n != 1 {
		t.Errorf("%d flushes when none runs, want 1", n)
	}
	f.begin()
	f.end(false)
	f.wait()
	if n := flushes.Load(); n != 2 {
		t.Errorf("%d flushes, want 2", n)
	}
}

// TestASlowCollectorDelaysOneAnswer has exports take two seconds each: the first
// event waits for its patience alone, the others not at all, nor does any
// request. When it is quick again, events wait for it again.
func TestASlowCollectorDelaysOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var export atomic.Int64 // how long one takes
		export.Store(int64(2 * time.Second))
		f := newFlusher(func() { <-time.After(time.Duration(export.Load())) })
		took := func(wait bool, want time.Duration, what string) {
			start := time.Now()
			f.begin()
			f.end(wait)
			if d := time.Since(start); d != want {
				t.Errorf("%s was delayed by %v, want %v", what, d, want)
			}
		}
		took(false, 0, "a request")
		took(true, 0, "an event while an export is under way")
		f.wait()
		<-time.After(flushEvery)
		f.late.Store(false)
		took(true, FlushTime, "the first event")
		for range 5 {
			f.wait()
			<-time.After(flushEvery)
			took(true, 0, "a later event")
		}
		f.wait()
		export.Store(int64(FlushTime / 2))
		<-time.After(flushEvery)
		took(true, 0, "the event that finds out that the collector is quick again")
		f.wait()
		<-time.After(flushEvery)
		took(true, FlushTime/2, "an event with a quick collector")
		took(true, 0, "an event soon after it")
		f.close()
		f.wait()
	})
}

// TestFlushesAreShared has many invocations end while one export is under way,
// and soon after it: one more serves them all, and delays none.
func TestFlushesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flushes int
		f := newFlusher(func() { flushes++; <-time.After(FlushTime / 4) })
		f.begin()
		var all sync.WaitGroup
		all.Go(func() { f.end(true) })
		synctest.Wait()
		for range 10 {
			f.begin()
			all.Go(func() { f.end(true) })
			<-time.After(flushEvery / 50)
		}
		ended := time.Now()
		all.Wait()
		if d := time.Since(ended); d != 0 {
			t.Errorf("an answer was delayed by %v", d)
		}
		f.wait()
		if flushes != 2 {
			t.Errorf("%d flushes, want 2", flushes)
		}
		f.begin()
		f.end(true) // which would begin a second later
		f.close()
		f.wait()
		f.begin()
		f.end(true)
		if flushes != 2 {
			t.Error("flushed after the end")
		}
	})
}
