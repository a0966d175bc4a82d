package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

// Ensure that a power cut at any moment that matters, right before and right
// after each sync, loses nothing that was acknowledged, tears no batch, and
// keeps the order: with all gone that was not synced, and with part of it there.
func TestPowerCutAtEverySync(t *testing.T) {
	for name, c := range map[string]struct {
		filler         string
		sessions, each int
		kept           []int // percent of what was not synced
	}{
		"many sessions": {"", 3, 2, []int{0, 50}},
		// A commit is larger than the blocks that are kept or not.
		"torn commits": {strings.Repeat("x", 1500), 1, 6, []int{30, 70}},
		// Segments are begun, carried along and removed all the time.
		"big batches": {strings.Repeat("x", 800), 1, 15, []int{0, 50}},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			fsys := filestest.NewMemory()
			h := &history{filler: c.filler}
			var mu sync.Mutex // one cut at a time
			cuts, torn := 0, 0
			around := func(when string) {
				mu.Lock()
				defer mu.Unlock()
				cuts++
				acked := h.acked.Load() // before the copy is made
				for _, kept := range c.kept {
					copied := fsys.PowerCut(kept, rng)
					r := h.check(t, fmt.Sprintf("cut %d, %s a sync, %d %% kept", cuts, when, kept), copied, "data/local", acked)
					if r.Torn > 0 {
						torn++
					}
					if r.Torn > 0 && kept == 0 {
						t.Errorf("cut %d: %d torn bytes where nothing is that was not synced", cuts, r.Torn)
					}
				}
			}
			const clients = 5
			for range c.sessions {
				d := openSmall(t, watched(fsys, around), "data/local")
				h.run(d, clients, c.each)
				closeDisk(t, d)
			}
			h.check(t, "at the end", fsys, "data/local", int64(c.sessions*clients*c.each))
			t.Logf("%d cuts, %d left something torn", cuts, torn)
		})
	}
}

// Ensure that what older logs held is not taken for the torn end of the last.
func TestTornIsOnlyWhatIs(t *testing.T) {
	fsys := filestest.NewMemory()
	h := &history{filler: strings.Repeat("x", 500)}
	d := openSmall(t, fsys, folder)
	for i := range 60 {
		h.run(d, 1, 1)
		killed := fsys.PowerCut(100, nil)
		if r := h.check(t, fmt.Sprintf("after kill -9 %d", i), killed, folder, h.acked.Load()); r != (Recovery{}) {
			t.Errorf("%+v, want nothing torn", r)
		}
	}
	closeDisk(t, d)
	if names := logs(t, fsys); slices.Contains(names, segmentName(1)) || len(names) > 10 {
		t.Errorf("the segments are %v: the oldest were to be removed", names)
	}
}

// Ensure that a removal is durable before the next one: a power cut that undoes
// only the first of two would leave a gap.
func TestRemovalsAreDurableInTheirOrder(t *testing.T) {
	fsys := filestest.NewMemory()
	h := &history{filler: strings.Repeat("x", 500)}
	for range 10 { // a segment each
		d := openDisk(t, fsys, folder)
		h.run(d, 1, 1)
		closeDisk(t, d)
	}
	removed, pending := 0, false
	watched := filestest.Hooks{FS: fsys, Before: func(op filestest.Op, name string) error {
		switch op {
		case filestest.SyncDir:
			pending = false
		case filestest.Remove:
			if pending {
				t.Errorf("%s is removed before the removal in front of it is durable", name)
			}
			removed, pending = removed+1, true
		}
		return nil
	}}
	d := openWith(t, folder, Options{FS: watched, limits: limits{segment: 1 << 20, least: 10_000}})
	h.run(d, 1, 10)
	closeDisk(t, d)
	if removed < 5 {
		t.Errorf("%d segments were removed", removed)
	}
	h.check(t, "at the end", fsys.PowerCut(0, nil), folder, 20)
}
