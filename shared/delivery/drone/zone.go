package drone

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// maxLost is how many drones of a page others may have been quicker at until the page is
// taken to be out of date.
const maxLost = 2

// zone is what this process knows of a zone's drones. That saves operations, and nothing
// depends on it: a drone that others have changed since it was read can't be claimed. It
// is safe for concurrent use.
type zone struct {
	name     string
	turn     chan struct{} // one place: one at a time creates drones, or asks for free ones
	complete bool          // all drones are there; for who has the turn

	mu   sync.Mutex
	page []Versioned     // free when they were read, each to be handed out once
	lost int             // of the page, to others
	out  map[string]bool // by drone id: handed out, and not given back
}

func (z *zone) enter(ctx context.Context) error {
	select {
	case z.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the drones of %s: %w", z.name, ctx.Err())
	}
}

func (z *zone) leave() { <-z.turn }

// handedOut returns the drones that are handed out now, by id.
func (z *zone) handedOut() map[string]bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return maps.Clone(z.out)
}

// keep takes in a page that was asked for when the drones before were handed out: it may
// show them as they were before they were claimed.
func (z *zone) keep(page []Versioned, before map[string]bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.lost = 0
	z.page = slices.DeleteFunc(page, func(v Versioned) bool { return before[v.Drone.ID] || z.out[v.Drone.ID] })
}

// next hands out one of the page's drones that fit, if there is one. It is any of them:
// the pages of other processes may have the same ones.
func (z *zone) next(fits func(Versioned) bool) (Versioned, bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for n, start := 0, rand.IntN(1+len(z.page)); n < len(z.page); n++ {
		i := (start + n) % len(z.page)
		if v := z.page[i]; fits(v) {
			z.page = slices.Delete(z.page, i, i+1)
			z.out[v.Drone.ID] = true
			return v, true
		}
	}
	return Versioned{}, false
}

// giveBack ends what next began: the drone was claimed, or is not going to be.
func (z *zone) giveBack(id string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.out, id)
}

// lose notes that another was quicker at a drone.
func (z *zone) lose() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.lost++; z.lost >= maxLost {
		z.page = nil
	}
}
