package cosmos

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// sweepStep is how many items a range's lock is held for.
const sweepStep = 1000

// sweepLoop removes expired items now and then. Nobody sees them before that, so
// how often does not matter to clients.
func (s *Server) sweepLoop(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.sweep(ctx)
		}
	}
}

// sweep removes all expired items of the account.
func (s *Server) sweep(ctx context.Context) {
	s.mu.RLock()
	var containers []*container
	for _, d := range s.databases {
		for _, c := range d.containers {
			containers = append(containers, c)
		}
	}
	s.mu.RUnlock()
	for _, c := range containers {
		if c.current.Load().defaultTTL == 0 {
			continue
		}
		for _, r := range c.ranges {
			var sequence uint64
			for more := true; more && ctx.Err() == nil; {
				sequence, more = s.sweepItems(c, r, sequence)
			}
		}
	}
}

// sweepItems removes the expired among the next items behind a sequence. It
// gives the last sequence that it looked at, and whether there may be more.
func (s *Server) sweepItems(c *container, r *keyRange, sequence uint64) (uint64, bool) {
	var b store.Batch
	r.mu.Lock()
	defer r.mu.Unlock()
	candidates := r.after("", sequence, sweepStep)
	if len(candidates) == 0 || r.closed {
		return sequence, false
	}
	now, ttl := s.now().Unix(), c.current.Load().defaultTTL
	for _, i := range candidates {
		if i.expired(ttl, now) {
			r.remove(i)
			b.Delete(c.itemStoreKey(i.sequence))
		}
	}
	if !b.Empty() {
		r.writes++
		r.last = s.commit(b)
	}
	return candidates[len(candidates)-1].sequence, true
}
