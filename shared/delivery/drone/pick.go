package drone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// hintFor is how long no drone is looked for at most, if none was free.
const hintFor = time.Second

// The bounds of what a client is asked to wait for a drone.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

// pick returns a drone that is free of others than the transaction for w: of the zone
// first, or else of the others. It may have been read a while ago. The error is a
// *problem.Problem if none is free.
func (f *fleet) pick(ctx context.Context, first, transactionID string, w Window) (Versioned, error) {
	fits := func(v Versioned) bool { return v.Drone.FreeFor(transactionID, w, f.now()) }
	for _, name := range f.cfg.zonesFrom(first) {
		v, found, err := f.pickOf(ctx, f.zones[name], w, fits)
		if found || err != nil {
			return v, err
		}
	}
	now, soonest := f.now(), maxRetry
	err := f.each(ctx, first, func(d Drone) {
		for _, h := range d.Holds {
			if h.TransactionID != transactionID && h.overlaps(w) {
				soonest = min(soonest, time.UnixMilli(h.Until).Sub(now))
			}
		}
	})
	if err != nil {
		return Versioned{}, err
	}
	return Versioned{}, noDroneFree(f.allBusy(w, max(soonest, minRetry)))
}

// pickOf returns a drone of a zone that fits, if there is one: of the page that is kept,
// or else of the store. One at a time asks the store; the others get theirs of its page.
// It begins anywhere in the zone, so that processes keep different pages.
func (f *fleet) pickOf(ctx context.Context, z *zone, w Window, fits func(Versioned) bool) (v Versioned, found bool, err error) {
	if v, found = z.next(fits); found {
		return v, true, nil
	}
	if err := z.enter(ctx); err != nil {
		return v, false, err
	}
	defer z.leave()
	if v, found = z.next(fits); found {
		return v, true, nil
	}
	if retry, busy := f.busy(w); busy {
		return v, false, noDroneFree(retry)
	}
	if err := f.complete(ctx, z); err != nil {
		return v, false, err
	}
	before := z.handedOut()
	for _, from := range []string{droneID(z.name, rand.IntN(f.cfg.perZone())), ""} {
		for continuation := ""; ; {
			page, next, err := f.store.Free(ctx, z.name, w, from, continuation)
			if err != nil {
				return v, false, fmt.Errorf("find a free drone in %s: %w", z.name, err)
			}
			if slices.ContainsFunc(page, fits) {
				z.keep(page, before)
			}
			if v, found = z.next(fits); found {
				return v, true, nil
			}
			if next == "" {
				break
			}
			continuation = next
		}
	}
	return v, false, nil
}

// allBusy notes that no drone is free for w for a while, and returns how long to wait.
func (f *fleet) allBusy(w Window, retry time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until, f.none, f.retry = f.now().Add(min(hintFor, retry)), w, retry
	return retry
}

// busy returns how long to wait if no drone was free a moment ago for a time that w
// is a part of, or has a part of.
func (f *fleet) busy(w Window) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.retry, f.now().Before(f.until) && w.overlaps(f.none)
}

// freed notes that a drone is free again.
func (f *fleet) freed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Time{}
}

func noDroneFree(retry time.Duration) error {
	p := problem.New(NoDroneFree, "the next one is expected in %v", retry.Round(time.Second))
	p.RetryAfter = retry
	return p
}
