package store

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var errDevice = errors.New("the device is gone")

// Ensure that nothing is acknowledged once a sync has failed, even if the next
// one would work, and that what was acknowledged before is there afterwards.
func TestFailedSync(t *testing.T) {
	files := vfs.NewCrashableMem()
	var breaks atomic.Bool
	failing := errorfs.Wrap(files, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, ".log") && breaks.CompareAndSwap(true, false) {
			return errDevice
		}
		return nil
	}))
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
	h.check(t, "after a power cut", files.CrashClone(vfs.CrashCloneCfg{}), folder, 20)
}

// Ensure that a file system that refuses any one kind of writing from some
// moment on, as a full disk does, makes the Disk fail at once, never hang, and
// costs nothing that was acknowledged.
func TestFullDisk(t *testing.T) {
	for _, kind := range []errorfs.OpKind{
		errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpRename,
	} {
		for after := 0; after < 60; after += 1 + after/6 {
			what := fmt.Sprintf("operation kind %d fails from number %d on", kind, after)
			files := vfs.NewCrashableMem()
			left := atomic.Int64{}
			left.Store(int64(after))
			full := errorfs.Wrap(files, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == kind && left.Add(-1) < 0 {
					return errDevice
				}
				return nil
			}))
			h := &history{filler: strings.Repeat("x", 20_000)}
			done := make(chan struct{})
			go func() {
				defer close(done)
				d, err := OpenDisk(folder, Options{FS: full})
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
			h.check(t, what, files.CrashClone(vfs.CrashCloneCfg{}), folder, h.acked.Load())
		}
	}
}

// wait waits for a channel to be closed.
func wait(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	select {
	case <-done:
	case <-deadline.C:
		t.Fatalf("waited in vain: %s", what)
	}
}
