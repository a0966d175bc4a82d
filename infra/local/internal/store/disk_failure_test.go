package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

var errDevice = errors.New("the device is gone")

// Ensure that nothing is acknowledged once a sync has failed, even if the next
// one would work, and that what was acknowledged before is there afterwards.
func TestFailedSync(t *testing.T) {
	fsys := filestest.NewMemory()
	var breaks atomic.Bool
	failing := filestest.Hooks{FS: fsys, Before: func(op filestest.Op, name string) error {
		if op == filestest.Sync && strings.HasSuffix(name, ".log") && breaks.CompareAndSwap(true, false) {
			return errDevice
		}
		return nil
	}}
	d := openDisk(t, failing, folder)
	h := new(history)
	h.run(d, 4, 5)
	breaks.Store(true)
	h.run(d, 4, 5)
	if acked, failed := h.acked.Load(), h.failed.Load(); acked != 20 || failed != 20 {
		t.Errorf("%d acknowledged, %d failed", acked, failed)
	}
	wait(t, "Failed", d.Failed())
	if err := d.Err(); !errors.Is(err, errDevice) {
		t.Errorf("Err: %v", err)
	}
	if got := list(d, ""); got != nil {
		t.Errorf("a failed Disk gives %v", got)
	}
	if err := Apply(d, h.batch(0)); !errors.Is(err, errDevice) {
		t.Errorf("a later commit: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	h.check(t, "after a power cut", fsys.PowerCut(0, nil), folder, 20)
}

// Ensure that a folder which is removed under a Disk ends it with the next commit:
// what is written there is kept by nobody.
func TestRemovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d := openDisk(t, files.System{}, dir)
	apply(t, d, "a=1")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var b Batch
	b.Put("b", []byte("2"))
	if err := Apply(d, b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a commit in a folder that is gone: %v", err)
	}
	wait(t, "Failed", d.Failed())
	closeDisk(t, d)
}

// Ensure that a file system that refuses any one kind of writing from some
// moment on, as a full disk does, makes the Disk fail at once, never hang, and
// costs nothing that was acknowledged.
func TestFullDisk(t *testing.T) {
	for _, kind := range []filestest.Op{
		filestest.Write, filestest.WriteAt, filestest.Create, filestest.Sync, filestest.SyncDir, filestest.Rename, filestest.Remove,
	} {
		for after := 0; after < 60; after += 1 + after/6 {
			what := fmt.Sprintf("%s fails from number %d on", kind, after)
			fsys := filestest.NewMemory()
			left := atomic.Int64{}
			left.Store(int64(after))
			full := filestest.Hooks{FS: fsys, Before: func(op filestest.Op, _ string) error {
				if op == kind && left.Add(-1) < 0 {
					return errDevice
				}
				return nil
			}}
			h := &history{filler: strings.Repeat("x", 1000)}
			done := make(chan struct{})
			go func() {
				defer close(done)
				d, err := OpenDisk(folder, Options{FS: full, limits: smallLimits})
				if err != nil {
					if !strings.Contains(err.Error(), errDevice.Error()) {
						t.Errorf("%s: opening: %v", what, err)
					}
					return
				}
				h.run(d, 2, 10)
				if err := d.Close(); h.failed.Load() == 0 && err != nil && !errors.Is(err, errDevice) {
					t.Errorf("%s: close: %v", what, err)
				}
			}()
			wait(t, what, done)
			h.check(t, what, fsys.PowerCut(0, nil), folder, h.acked.Load())
		}
	}
}

// wait waits for a channel to be closed.
func wait(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	select {
	case <-done:
	case <-deadline.C:
		t.Fatalf("waited in vain: %s", what)
	}
}
