package auth

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// limiterShards keep callers from waiting for each other's lock. A power of two.
	limiterShards = 64
	// maxCallers bounds the callers of one generation of one shard: a million
	// of them in all, at some hundred bytes each.
	maxCallers = 8192
)

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
	seed      maphash.Seed
	most      int // maxCallers
	shards    [limiterShards]limiterShard
}

// limiterShard is the part of the callers that share a lock. What is in use moves to
// recent; when that is full, or a bucket's fill time old, it becomes former, and
// what was former is forgotten.
type limiterShard struct {
	mu             sync.Mutex
	recent, former map[string]*rate.Limiter
	since          time.Time // that recent was begun
}

// NewLimiter returns a limiter that lets perSecond requests of each caller through, and
// burst at once. Both must be positive.
func NewLimiter(perSecond float64, burst int, now func() time.Time) *Limiter {
	fill := float64(burst) / perSecond * float64(time.Second)
	return &Limiter{
		perSecond: rate.Limit(perSecond), burst: burst, now: now, seed: maphash.MakeSeed(), most: maxCallers,
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
	s := &l.shards[maphash.String(l.seed, caller)%limiterShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= l.most || now.Sub(s.since) >= l.fill {
		s.former, s.recent, s.since = s.recent, map[string]*rate.Limiter{}, now
	}
	b := s.recent[caller]
	if b == nil {
		if b = s.former[caller]; b == nil {
			b = rate.NewLimiter(l.perSecond, l.burst)
		}
		s.recent[caller] = b
	}
	return b
}
