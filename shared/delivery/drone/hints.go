package drone

import (
	"sync"
	"time"
)

// hintFor is how long this process remembers what it saw of the fleet. It saves
// requests that would fail, and nothing depends on it: a drone that another
// process frees is overlooked for that long at most.
const hintFor = time.Second

// hints is what this process remembers of the fleet. It is safe for concurrent
// use.
type hints struct {
	mu    sync.Mutex
	taken map[string]time.Time // by drone id: until when to prefer others
	full  time.Time            // until when to look for no drone in none
	none  Window               // for which none was free
	retry time.Duration        // the answer in the meantime
}

// take notes that a drone was picked here.
func (h *hints) take(id string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.taken) > 4096 {
		for other, until := range h.taken {
			if !now.Before(until) {
				delete(h.taken, other)
			}
		}
	}
	h.taken[id] = now.Add(hintFor)
}

// isTaken reports whether a drone was picked here a moment ago.
func (h *hints) isTaken(id string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Before(h.taken[id])
}

// freed forgets what stands against taking a drone.
func (h *hints) freed(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.taken, id)
	h.full = time.Time{}
}

// allBusy notes that no drone is free for w for a while.
func (h *hints) allBusy(w Window, retry time.Duration, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full, h.none, h.retry = now.Add(min(hintFor, retry)), w, retry
}

// busy returns how long to wait if no drone was free a moment ago for a time that
// w is a part of, or has a part of.
func (h *hints) busy(w Window, now time.Time) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.retry, now.Before(h.full) && w.overlaps(h.none)
}
