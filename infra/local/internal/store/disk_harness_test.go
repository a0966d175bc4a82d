package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

// openDisk opens a Disk that must open.
func openDisk(t testing.TB, fsys files.FS, dir string) *Disk {
	t.Helper()
	return openWith(t, dir, Options{FS: fsys})
}

// smallLimits are those of a Disk whose segments are so small that some are begun,
// and removed, all the time.
var smallLimits = limits{segment: 3000, slack: 5000, least: 100}

func openSmall(t testing.TB, fsys files.FS, dir string) *Disk {
	t.Helper()
	return openWith(t, dir, Options{FS: fsys, limits: smallLimits})
}

func openWith(t testing.TB, dir string, o Options) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, o)
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

// batch is the nth: it adds entries, changes one that some others have changed,
// and removes some of an earlier batch. Some entries stay for good.
func (h *history) batch(n int) Batch {
	var b Batch
	b.Put(fmt.Sprintf("turn/%d", n%turns), fmt.Append(nil, n))
	if n%staying == 0 {
		b.Put(fmt.Sprintf("stays/%06d", n), fmt.Append(nil, n))
	}
	b.Put("last", fmt.Append(nil, n))
	b.Put(fmt.Sprintf("a/%06d", n), []byte(h.filler))
	b.Put(fmt.Sprintf("b/%06d", n), fmt.Append(nil, n))
	b.Delete(fmt.Sprintf("a/%06d", n-10))
	b.Delete(fmt.Sprintf("b/%06d", n-10))
	return b
}

const turns, staying = 7, 5

// state is what the first n batches leave.
func (h *history) state(n int) []string {
	var all []string
	for i := max(0, n-turns); i < n; i++ {
		all = append(all, fmt.Sprintf("turn/%d=%d", i%turns, i))
	}
	for i := 0; i < n; i += staying {
		all = append(all, fmt.Sprintf("stays/%06d=%d", i, i))
	}
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
func (h *history) check(t testing.TB, what string, fsys files.FS, dir string, acked int64) Recovery {
	t.Helper()
	d, err := OpenDisk(dir, Options{FS: fsys})
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

// watched calls a function right before and right after every sync.
func watched(fsys files.FS, around func(when string)) files.FS {
	sync := func(op filestest.Op) bool { return op == filestest.Sync || op == filestest.SyncDir }
	return filestest.Hooks{
		FS: fsys,
		Before: func(op filestest.Op, _ string) error {
			if sync(op) {
				around("before")
			}
			return nil
		},
		After: func(op filestest.Op, _ string) {
			if sync(op) {
				around("after")
			}
		},
	}
}
