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

// pick returns a free drone: of the given zone, or else of the others. Among
// the free ones of a zone it takes one at random, so that requests don't fight
// for the same, and one that this process has not just taken, if there is one.
// The error is a *problem.Problem if none is free.
func (s *Service) pick(ctx context.Context, zone string) (Versioned, error) {
	now := s.now() // one for all pages: it is part of the query
	if retry, busy := s.hints.busy(now); busy {
		return Versioned{}, noDroneFree(retry)
	}
	var spare []Versioned // free, but taken here a moment ago
	for _, z := range s.cfg.zonesFrom(zone) {
		if err := s.fleet.ensure(ctx, z); err != nil {
			return Versioned{}, err
		}
		for continuation := ""; ; {
			page, next, err := s.drones.Free(ctx, z, now, continuation)
			if err != nil {
				return Versioned{}, fmt.Errorf("find a free drone in %s: %w", z, err)
			}
			var fresh []Versioned
			for _, v := range page {
				if s.hints.isTaken(v.Drone.ID, now) {
					spare = append(spare, v)
				} else {
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
	retry, err := s.nextFree(ctx, zone)
	if err != nil {
		return Versioned{}, err
	}
	s.hints.allBusy(retry, s.now())
	return Versioned{}, noDroneFree(retry)
}

// nextFree returns how long it takes until a drone of the zone is free, within
// the bounds.
func (s *Service) nextFree(ctx context.Context, zone string) (time.Duration, error) {
	now, soonest := s.now(), maxRetry
	err := s.fleet.each(ctx, zone, func(v Versioned) {
		soonest = min(soonest, time.UnixMilli(v.Drone.BusyUntil).Sub(now))
	})
	return max(soonest, minRetry), err
}

func noDroneFree(retry time.Duration) error {
	p := problem.New(NoDroneFree, "the next one is expected in %v", retry.Round(time.Second))
	p.RetryAfter = retry
	return p
}
