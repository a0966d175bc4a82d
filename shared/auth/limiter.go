package auth

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxCallers bounds the callers of a generation, at some hundred bytes each.
const maxCallers = 512 << 10

// Limiter has a token bucket for each caller. It is safe for concurrent use and
// keeps time by its clock.
//
// Its memory is bounded. A bucket that was not asked for as long as it takes to
// fill up is forgotten, which changes nothing: a new one is full as well. Only
// when more than maxCallers are at it within that time are the ones that have
// been idle for longest forgotten before.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	fill      time.Duration // from empty to full
	now       func() time.Time
	most      int // maxCallers

	mu sync.Mutex
	// What is in use moves to recent; when that is full, or a bucket's fill time old, it
	// becomes former, and what was former is forgotten.
	recent, former map[string]*rate.Limiter
	since          time.Time // that recent was begun
}

// NewLimiter returns a limiter that lets perSecond requests of each caller through, and
// burst at once. Both must be positive.
func NewLimiter(perSecond float64, burst int, now func() time.Time) *Limiter {
	fill := float64(burst) / perSecond * float64(time.Second)
	return &Limiter{
		perSecond: rate.Limit(perSecond), burst: burst, now: now, most: maxCallers,
		fill: time.Duration(min(fill, float64(math.MaxInt64/2))),
	}
}

// Admit takes one request of the caller's. If it is one too many, wait is how
// long the caller has to wait for the next; the request costs it nothing then.
func (l *Limiter) Admit(caller string) (wait time.Duration, ok bool) {
	now := l.now()
	r := l.bucket(caller, now).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait == 0 {
		return 0, true
	}
	r.CancelAt(now)
	return wait, false
}

func (l *Limiter) bucket(caller string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.recent == nil || len(l.recent) >= l.most || now.Sub(l.since) >= l.fill {
		l.former, l.recent, l.since = l.recent, map[string]*rate.Limiter{}, now
	}
	b := l.recent[caller]
	if b == nil {
		if b = l.former[caller]; b == nil {
			b = rate.NewLimiter(l.perSecond, l.burst)
		}
		l.recent[caller] = b
	}
	return b
}
