package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
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
		// Each opening writes a table, so that some are merged.
		"many sessions": {"", 3, 2, []int{0, 50}},
		// A commit is larger than the blocks that are kept or not.
		"torn commits": {strings.Repeat("x", 1500), 1, 6, []int{30, 70}},
		// Logs and tables are changed in the middle of a session.
		"big batches": {strings.Repeat("x", 8000), 1, 15, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			files := vfs.NewCrashableMem()
			h := &history{filler: c.filler}
			var mu sync.Mutex // one cut at a time
			cuts, torn := 0, 0
			around := func(when string) {
				mu.Lock()
				defer mu.Unlock()
				cuts++
				acked := h.acked.Load() // before the copy is made
				for _, kept := range c.kept {
					copied := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng})
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
				d := openDisk(t, syncFS{files, around}, "data/local")
				h.run(d, clients, c.each)
				closeDisk(t, d)
			}
			h.check(t, "at the end", files, "data/local", int64(c.sessions*clients*c.each))
			t.Logf("%d cuts, %d left something torn", cuts, torn)
		})
	}
}

// Ensure that what older logs held is not taken for the torn end of the last.
func TestTornIsOnlyWhatIs(t *testing.T) {
	files := vfs.NewCrashableMem()
	h := &history{filler: strings.Repeat("x", 200_000)}
	d := openDisk(t, unsyncedFS{files}, folder)
	logs := map[string]bool{}
	for len(logs) < 8 { // from the sixth on there are old ones to write over; the last is short
		h.run(d, 1, 1)
		logs[lastLog(t, files)] = true
	}
	killed := copyAll(files)
	closeDisk(t, d)
	if r := h.check(t, "after kill -9", killed, folder, h.acked.Load()); r != (Recovery{}) {
		t.Errorf("%+v, want nothing torn", r)
	}
}

// unsyncedFS saves the copy that a crashable file system makes of a file at each
// sync.
type unsyncedFS struct{ vfs.FS }

func (f unsyncedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return unsyncedFile{file}, err
}

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error     { return nil }
func (unsyncedFile) SyncData() error { return nil }
