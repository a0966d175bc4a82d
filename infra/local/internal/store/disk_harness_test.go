package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

// openDisk opens a Disk that must open.
func openDisk(t testing.TB, files vfs.FS, dir string) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, Options{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeDisk(t testing.TB, d *Disk) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A history is batches in the order in which they were handed to a Disk.
// Whatever happens to the Disk, afterwards it must hold the state that some
// number of the first of them leave, not less than were acknowledged.
type history struct {
	mu      sync.Mutex // makes the order of the calls known
	filler  string     // makes the batches big
	handed  int
	acked   atomic.Int64 // calls are answered in their order
	failed  atomic.Int64
	answers sync.WaitGroup
}

// batch is the nth: it adds entries, and removes some of an earlier batch.
func (h *history) batch(n int) Batch {
	var b Batch
	b.Put("last", fmt.Append(nil, n))
	b.Put(fmt.Sprintf("a/%06d", n), []byte(h.filler))
	b.Put(fmt.Sprintf("b/%06d", n), fmt.Append(nil, n))
	b.Delete(fmt.Sprintf("a/%06d", n-10))
	b.Delete(fmt.Sprintf("b/%06d", n-10))
	return b
}

// state is what the first n batches leave.
func (h *history) state(n int) []string {
	var all []string
	for i := max(0, n-10); i < n; i++ {
		all = append(all, fmt.Sprintf("a/%06d=%s", i, h.filler), fmt.Sprintf("b/%06d=%d", i, i))
	}
	if n > 0 {
		all = append(all, fmt.Sprintf("last=%d", n-1))
	}
	slices.Sort(all)
	return all
}

// run commits batches from some goroutines, each waiting for its own.
func (h *history) run(d *Disk, clients, each int) {
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				done := make(chan struct{})
				h.commit(d, func() { close(done) })
				<-done
			}
		})
	}
	all.Wait()
}

// commit hands over the next batch.
func (h *history) commit(d *Disk, done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers.Add(1)
	n := h.handed
	h.handed++
	d.Commit(h.batch(n), func(err error) {
		defer h.answers.Done()
		if err != nil {
			h.failed.Add(1)
		} else {
			h.acked.Add(1)
		}
		done()
	})
}

// check opens a copy of the folder and compares. acked is how many batches were
// acknowledged when the copy was made.
func (h *history) check(t testing.TB, what string, files vfs.FS, dir string, acked int64) Recovery {
	t.Helper()
	d, err := OpenDisk(dir, Options{FS: files})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return Recovery{}
	}
	defer closeDisk(t, d)
	h.compare(t, what, d, acked)
	return d.Recovery()
}

func (h *history) compare(t testing.TB, what string, d *Disk, acked int64) {
	t.Helper()
	got := list(d, "")
	n := 0
	for _, entry := range got {
		if last, ok := strings.CutPrefix(entry, "last="); ok {
			fmt.Sscan(last, &n)
			n++
		}
	}
	if int64(n) < acked {
		t.Errorf("%s: the first %d batches are there, %d were acknowledged", what, n, acked)
	}
	if diff := cmp.Diff(h.state(n), got); diff != "" {
		t.Errorf("%s: not the state of the first %d batches: want (-), got (+):\n%s", what, n, diff)
	}
}

// A syncFS calls a function right before and right after every sync.
type syncFS struct {
	vfs.FS
	around func(when string)
}

func (f syncFS) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return syncFile{file, f.around}, nil
}

func (f syncFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.Create(name, c))
}

func (f syncFS) OpenDir(name string) (vfs.File, error) { return f.wrap(f.FS.OpenDir(name)) }

func (f syncFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.wrap(f.FS.OpenReadWrite(name, c, o...))
}

type syncFile struct {
	vfs.File
	around func(when string)
}

func (f syncFile) Sync() error {
	f.around("before")
	defer f.around("after")
	return f.File.Sync()
}

func (f syncFile) SyncData() error {
	f.around("before")
	defer f.around("after")
	return f.File.SyncData()
}
