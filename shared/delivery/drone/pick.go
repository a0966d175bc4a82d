package drone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// The bounds of what a client is asked to wait for a drone.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

// pick returns a drone that is free for w: of the given zone, or else of the
// others. Among the free ones of a zone it takes one at random, so that requests
// don't fight for the same, and one that this process has not just taken, if
// there is one. The error is a *problem.Problem if none is free.
func (a *assigning) pick(ctx context.Context, zone string, w Window) (Versioned, error) {
	now := a.now()
	if retry, busy := a.hints.busy(w, now); busy {
		return Versioned{}, noDroneFree(retry)
	}
	var spare []Versioned // free, but taken here a moment ago
	for _, z := range a.cfg.zonesFrom(zone) {
		if err := a.fleet.ensure(ctx, z); err != nil {
			return Versioned{}, err
		}
		for continuation := ""; ; {
			page, next, err := a.drones.Free(ctx, z, w, continuation)
			if err != nil {
				return Versioned{}, fmt.Errorf("find a free drone in %s: %w", z, err)
			}
			var fresh []Versioned
			for _, v := range page {
				switch {
				case !v.Drone.FreeFor(a.id, w, now):
				case a.hints.isTaken(v.Drone.ID, now):
					spare = append(spare, v)
				default:
					fresh = append(fresh, v)
				}
			}
			if len(fresh) > 0 {
				return fresh[rand.IntN(len(fresh))], nil
			}
			if next == "" {
				break
			}
			continuation = next
		}
	}
	if len(spare) > 0 {
		return spare[rand.IntN(len(spare))], nil
	}
	retry, err := a.nextFree(ctx, zone, w)
	if err != nil {
		return Versioned{}, err
	}
	a.hints.allBusy(w, retry, a.now())
	return Versioned{}, noDroneFree(retry)
}

// nextFree returns how long it takes until the first of the zone's drones that
// are held in w is free again, within the bounds.
func (a *assigning) nextFree(ctx context.Context, zone string, w Window) (time.Duration, error) {
	now, soonest := a.now(), maxRetry
	err := a.fleet.each(ctx, zone, func(v Versioned) {
		for _, h := range v.Drone.Holds {
			if h.TransactionID != a.id && h.overlaps(w) {
				soonest = min(soonest, time.UnixMilli(h.Until).Sub(now))
			}
		}
	})
	return max(soonest, minRetry), err
}

func noDroneFree(retry time.Duration) error {
	p := problem.New(NoDroneFree, "the next one is expected in %v", retry.Round(time.Second))
	p.RetryAfter = retry
	return p
}
