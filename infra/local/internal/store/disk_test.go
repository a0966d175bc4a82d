package store

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

func TestDisk(t *testing.T) {
	conforms(t, func(t *testing.T) Store { return openDisk(t, files.System{}, t.TempDir()) })
}

// Ensure that nobody is told of a commit before it is durable: neither who waits
// for it nor who reads.
func TestNothingIsShownBeforeItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := filestest.NewMemory()
		var d *Disk
		var told, shown []string
		var all sync.WaitGroup
		armed := false
		d = openDisk(t, watched(fsys, func(when string) {
			if !armed || when != "before" {
				return
			}
			armed = false
			all.Go(func() { shown = list(d, "") })
			synctest.Wait() // until the reader waits, or has read
			if told != nil || shown != nil {
				t.Errorf("before the sync %q were told, and %q shown", told, shown)
			}
		}), folder)
		armed = true
		var b Batch
		b.Put("a", []byte("1"))
		d.Commit(b, func(err error) {
			if err != nil {
				t.Errorf("commit: %v", err)
			}
			told = append(told, "a")
		})
		closeDisk(t, d)
		all.Wait()
		if len(told) != 1 {
			t.Errorf("told %q", told)
		}
	})
}

// Ensure that commits that wait at the same time share a sync, and that a group
// has its bounds.
func TestCommitsShareSyncs(t *testing.T) {
	fsys := filestest.NewMemory()
	held, let := make(chan struct{}), make(chan struct{})
	armed := false
	d := openDisk(t, watched(fsys, func(when string) {
		if armed && when == "before" {
			armed = false
			close(held)
			<-let
		}
	}), folder)
	var answers sync.WaitGroup
	commit := func(size int) {
		var b Batch
		b.Put("key", make([]byte, size))
		answers.Add(1)
		d.Commit(b, func(err error) {
			defer answers.Done()
			if err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
	armed = true
	before := d.label.last.commit
	commit(1)
	<-held
	for range 100 {
		commit(10)
	}
	commit(maxGroupBytes + 1) // alone
	commit(maxGroupBytes / 2)
	commit(maxGroupBytes / 3)
	d.Commit(Batch{}, func(error) {}) // nothing to write
	close(let)
	answers.Wait()
	closeDisk(t, d)
	if n := d.label.last.commit - before; n != 4 {
		t.Errorf("%d syncs for 104 commits, want 4", n)
	}
}
