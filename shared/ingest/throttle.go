package ingest

import (
	"sync"
	"time"
)

// How many requests may be under way in a Throttle.
const (
	// leastUnderWay are always let in: one batch takes so many.
	leastUnderWay = 100
	// firstUnderWay are let in before anything is known.
	firstUnderWay = 500
	// growth bounds by how much more are let in after one window.
	growth = 1.5
)

// Throttle refuses at the door what an overloaded instance can't answer in time.
// Inside, requests would wait for CPU in places that nobody bounds, long before the
// Writer's buffer is full. It lets in as many at once as are answered within its
// target by what it has seen: where n are under way and take t, n × target ÷ t
// take as long as the target (Little's law). It is safe for concurrent use.
type Throttle struct {
	target time.Duration

	mu       sync.Mutex
	limit    float64
	underWay int
	window   window
}

// window is what is seen of the requests that came in since the limit was last
// judged: earlier ones say nothing of it.
type window struct {
	since time.Time
	most  int           // were under way at once
	ended int           // of those that came in since
	took  time.Duration // all that ended, together
}

// NewThrottle returns a Throttle with that target. Judging takes twice as long.
func NewThrottle(target time.Duration) *Throttle {
	return &Throttle{target: target, limit: firstUnderWay}
}

// Enter reports whether a request may go on. If so, Leave must be called when it
// has ended.
func (t *Throttle) Enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underWay >= int(t.limit) {
		return false
	}
	t.underWay++
	t.window.most = max(t.window.most, t.underWay)
	return true
}

// Leave ends a request that entered at a time, by the same clock as now.
func (t *Throttle) Leave(entered, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
	w := &t.window
	if entered.Before(w.since) {
		return
	}
	if w.since.IsZero() {
		w.since = entered
	}
	w.ended++
	w.took += now.Sub(entered)
	if now.Sub(w.since) >= 2*t.target {
		t.limit = limitAfter(t.limit, *w, t.target)
		t.window = window{since: now, most: t.underWay}
	}
}

// limitAfter returns the limit that follows from a window. Where less than half of
// it was used it stays: what is slow then is not so because too many are under way.
func limitAfter(limit float64, w window, target time.Duration) float64 {
	if float64(w.most) < limit/2 {
		return limit
	}
	mean := max(w.took/time.Duration(w.ended), 1)
	fitting := float64(w.most) * float64(target) / float64(mean)
	return max(leastUnderWay, min(fitting, limit*growth))
}
