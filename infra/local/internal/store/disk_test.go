package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

func TestDisk(t *testing.T) {
	conforms(t, func(t *testing.T) Store { return openDisk(t, files.System{}, t.TempDir()) })
}

// Ensure that values are found while segments are begun, carried along and removed
// all the time, and that who reads keeps the segments that it reads.
func TestValuesOutliveTheirSegments(t *testing.T) {
	d := openSmall(t, filestest.NewMemory(), folder)
	apply(t, d, "stays=here", "goes=soon")
	h := &history{filler: strings.Repeat("x", 800)}
	h.run(d, 1, 30)
	if value, err := d.Get("stays"); err != nil || string(value) != "here" {
		t.Errorf("stays is %q (%v)", value, err)
	}
	before := d.log.segments[0]
	all := d.All("")
	apply(t, d, "-goes")
	h.run(d, 1, 100)
	if d.log.segments[0] != before {
		t.Error("a segment was removed that is being read")
	}
	got := map[string]string{}
	for key, value := range all {
		got[key] = string(value)
	}
	if got["stays"] != "here" || got["goes"] != "soon" || got["last"] != "29" {
		t.Errorf("read stays=%q goes=%q last=%q", got["stays"], got["goes"], got["last"])
	}
	h.run(d, 1, 100)
	if d.log.segments[0] == before {
		t.Error("nothing is removed any more")
	}
	closeDisk(t, d)
	if _, err := d.Get("stays"); !errors.Is(err, ErrClosed) {
		t.Errorf("a read after Close gave %v", err)
	}
}

// Ensure that readers find each value, and never an older one than before, while
// segments are carried along and removed beside them.
func TestReadersBesideCompaction(t *testing.T) {
	d := openSmall(t, filestest.NewMemory(), folder)
	defer closeDisk(t, d)
	const keys, rounds = 4, 150
	filler := strings.Repeat("x", 300)
	apply(t, d, "stays="+filler)
	name := func(key int) string { return "count/" + strconv.Itoa(key) }
	put := func(round int) {
		var b Batch
		for key := range keys {
			b.Put(name(key), []byte(strconv.Itoa(round)+" "+filler))
		}
		if err := Apply(d, b); err != nil {
			t.Error(err)
		}
	}
	put(0)
	first := d.log.segments[0].name
	done := make(chan struct{})
	var reading sync.WaitGroup
	for key := range keys {
		reading.Go(func() {
			for last, more := 0, true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				value, err := d.Get(name(key))
				number, _, _ := strings.Cut(string(value), " ")
				round, bad := strconv.Atoi(number)
				if err = errors.Join(err, bad); err != nil || round < last || len(value) != len(number)+1+len(filler) {
					t.Errorf("after %d came %.20q, %v", last, value, err)
					return
				}
				last = round
				if value, err := d.Get("stays"); err != nil || string(value) != filler {
					t.Errorf("stays is %.20q, %v", value, err)
					return
				}
			}
		})
	}
	for round := range rounds {
		put(round)
	}
	close(done)
	reading.Wait()
	if d.log.segments[0].name == first {
		t.Error("no segment was removed: the readers had no reason to fail")
	}
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

// Ensure that the latest change is read while it waits, and those before it become
// durable.
func TestWhatWaitsIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		var d *Disk
		d = openDisk(t, watched(filestest.NewMemory(), func(when string) {
			if when == "before" && d != nil {
				<-let
			}
		}), folder)
		for n := range 3 {
			var b Batch
			b.Put("key", fmt.Append(nil, n))
			d.Commit(b, func(error) {})
			synctest.Wait() // the first is at its sync
		}
		for range 3 {
			if value, err := d.Get("key"); err != nil || string(value) != "2" {
				t.Errorf("read %q (%v) while commits wait, want 2", value, err)
			}
			let <- struct{}{}
			synctest.Wait()
		}
		close(let)
		closeDisk(t, d)
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
