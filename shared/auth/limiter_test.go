package auth

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a clock that only moves when it is told to.
type clock struct{ ahead atomic.Int64 }

var start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

func (c *clock) now() time.Time { return start.Add(time.Duration(c.ahead.Load())) }

func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

func want(t *testing.T, l *Limiter, caller string, wait time.Duration) {
	t.Helper()
	if got, ok := l.Admit(caller); ok != (wait == 0) || got.Round(time.Millisecond) != wait {
		t.Errorf("%s: wait %v, admitted %v, want %v", caller, got, ok, wait)
	}
}

func TestBurstAndRate(t *testing.T) {
	var c clock
	l := NewLimiter(2, 3, c.now)
	for range 3 {
		want(t, l, "ada", 0)
	}
	want(t, l, "ada", 500*time.Millisecond)
	want(t, l, "ada", 500*time.Millisecond) // the refusal cost nothing
	want(t, l, "bob", 0)
	c.advance(500 * time.Millisecond)
	want(t, l, "ada", 0)
	want(t, l, "ada", 500*time.Millisecond)
	c.advance(time.Hour)
	for range 3 {
		want(t, l, "ada", 0)
	}
	want(t, l, "ada", 500*time.Millisecond)
}

// Ensure that forgetting a caller gives it nothing: one that was busy within the
// time in which its bucket fills is remembered, however the time lies to those of
// the others.
func TestForgettingGivesNothing(t *testing.T) {
	var c clock
	l := NewLimiter(1, 10, c.now)
	var admitted int
	const seconds = 100
	for range seconds {
		for range 5 {
			if _, ok := l.Admit("ada"); ok {
				admitted++
			}
		}
		l.Admit("bob")
		c.advance(time.Second)
	}
	if most := seconds + 10; admitted > most || admitted < seconds {
		t.Errorf("%d were admitted in %d s, want up to %d", admitted, seconds, most)
	}
}

// Ensure that callers who come once don't stay, and that many of them at a time
// don't take all memory.
func TestMemoryIsBounded(t *testing.T) {
	var c clock
	l := NewLimiter(1, 10, c.now)
	kept := func() int { return len(l.recent) + len(l.former) }
	l.most = 6400
	for n := range 3 * l.most {
		l.Admit(fmt.Sprint(n))
	}
	if n := kept(); n > 2*l.most || n < l.most {
		t.Errorf("%d callers are kept, want up to %d", n, 2*l.most)
	}
	for range 2 { // they are asked twice in a bucket's fill time
		c.advance(10 * time.Second)
		for n := range 1000 {
			l.Admit(fmt.Sprint(n))
		}
	}
	if n := kept(); n > 2*1000 {
		t.Errorf("%d callers are kept after a while", n)
	}
}

func TestSlowestRate(t *testing.T) {
	l := NewLimiter(1e-9, 1_000_000, (&clock{}).now)
	if l.fill < 100*365*24*time.Hour {
		t.Errorf("a bucket fills in %v", l.fill)
	}
	want(t, l, "ada", 0)
}

func TestConcurrentCallers(t *testing.T) {
	l := NewLimiter(1e-3, 100, (&clock{}).now)
	var wg sync.WaitGroup
	var admitted atomic.Int64
	for range 8 {
		wg.Go(func() {
			for n := range 1000 {
				if _, ok := l.Admit(fmt.Sprint(n % 4)); ok {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 400 {
		t.Errorf("%d were admitted, want 400", n)
	}
}

// BenchmarkAdmit tells what callers cost each other: compare one goroutine with
// many, and one caller with many.
func BenchmarkAdmit(b *testing.B) {
	for _, callers := range []int{1, 1000} {
		names := make([]string, callers)
		for i := range names {
			names[i] = fmt.Sprintf("00000000-0000-0000-0000-0000000000aa/00000000-0000-0000-0000-%012d", i)
		}
		l := NewLimiter(1e6, 1_000_000, time.Now)
		b.Run(fmt.Sprintf("callers=%d/alone", callers), func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				l.Admit(names[n%callers])
			}
		})
		b.Run(fmt.Sprintf("callers=%d/together", callers), func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for n := int(next.Add(1)) * 7; pb.Next(); n++ {
					l.Admit(names[n%callers])
				}
			})
		})
	}
}
