package store

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Disk is a Store in a folder. A commit is done when it would survive a power
// cut: commits that wait at the same time share one sync of the log.
//
// A commit that can't be made durable is the end of the Disk: it and all later
// ones get the error, and Failed is closed. Whatever was acknowledged is there
// after the next opening.
type Disk struct {
	db       *pebble.DB
	lock     *pebble.Lock
	label    *label
	recovery Recovery
	// using has room for one: who is in there uses db and label, so that All
	// shows nothing that is not durable. shut, guarded by it, says that they are
	// closed.
	using chan struct{}
	shut  bool

	mu      sync.Mutex
	more    sync.Cond // waiting, closed or failure has changed
	waiting []request // in the order of the Commit calls
	taken   []request // what the committer is at
	closed  bool
	ended   bool // nothing waits any more, and nothing will
	failure error
	answers answers // has a lock of its own

	failed   chan struct{} // closed with failure
	finished chan struct{} // closed when the committer has ended
	wake     chan struct{} // has room for one: there are answers
	quit     chan struct{} // closed to end the answerer
	calling  sync.WaitGroup
	closing  sync.Once
	closeErr error
}

// Options of a Disk. The zero value is valid.
type Options struct {
	FS     vfs.FS       // default: that of the operating system
	Logger *slog.Logger // default: discards
}

// Recovery is what OpenDisk has found in the folder.
type Recovery struct {
	// Fresh: the folder was empty or not there.
	Fresh bool
	// Clean: the Disk was closed before, or the folder is fresh.
	Clean bool
	// Torn is how many bytes of a commit that was never acknowledged were
	// dropped.
	Torn int64
}

var _ Store = (*Disk)(nil)

// OpenDisk opens the Disk in a folder, and makes both where there is none. All
// that the folder holds is read and checked before anything in it is changed.
// The error wraps ErrInUse, ErrForeign, ErrNewer or ErrDamaged where it is one of
// them. Close must be called.
func OpenDisk(dir string, o Options) (*Disk, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Disk{
		using:  make(chan struct{}, 1),
		failed: make(chan struct{}), finished: make(chan struct{}),
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	d.more.L = &d.mu
	last, err := d.open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, err)
	}
	go d.run(last)
	d.calling.Go(d.call)
	return d, nil
}

// open takes the folder, and gives the number of the last commit in it.
func (d *Disk) open(dir string, o Options) (last uint64, err error) {
	var fresh bool
	if d.lock, d.label, fresh, err = claim(o.FS, dir); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.label.file.Close(), d.lock.Close())
		}
	}()
	before := d.label.last
	log := pebbleLog{log: o.Logger, fatal: d.fail}
	last, torn, err := check(o.FS, dir, before.commit, func() (*pebble.DB, error) {
		files := folderFS{FS: o.FS, fail: d.fail, hideLogs: true}
		return d.openPebble(dir, pebbleOptions(files, d.lock, log, true))
	})
	if err != nil {
		return 0, err
	}
	d.recovery = Recovery{Fresh: fresh, Clean: before.clean, Torn: torn}
	options := pebbleOptions(folderFS{FS: o.FS, fail: d.fail}, d.lock, log, false)
	// Without room to go on, commits would wait for ever.
	options.EventListener.BackgroundError = d.fail
	options.EventListener.DataCorruption = func(i pebble.DataCorruptionInfo) { d.fail(damaged(i.Path, "%w", i.Details)) }
	if d.db, err = d.openPebble(dir, options); err != nil {
		return 0, err
	}
	if err := d.begin(last); err != nil {
		return 0, errors.Join(err, d.within(d.db.Close))
	}
	return last, nil
}

// begin makes sure that the database shows what check has seen, and notes that
// the Disk is open.
func (d *Disk) begin(last uint64) error {
	now, err := readCommit(d.db)
	if err != nil {
		return err
	}
	if now != last {
		return fmt.Errorf("%w: it was read as having %d commits, then as having %d", ErrDamaged, last, now)
	}
	if err := d.label.write(last, false); err != nil {
		return err
	}
	return d.label.file.Sync()
}

func (d *Disk) openPebble(dir string, o *pebble.Options) (*pebble.DB, error) {
	var db *pebble.DB
	err := d.within(func() (err error) {
		db, err = pebble.Open(dir, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}

// within calls f, which opens or closes Pebble. It panics on some damage, and does
// not return when the Disk fails on the way; both are errors here.
func (d *Disk) within(f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("pebble: %v", r)
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-d.failed:
		return d.Err()
	}
}

// Recovery tells what OpenDisk has found.
func (d *Disk) Recovery() Recovery { return d.recovery }

// Failed is closed when nothing can be kept any more; Err tells why.
func (d *Disk) Failed() <-chan struct{} { return d.failed }

// Err gives why Failed is closed; nil as long as it is open.
func (d *Disk) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// All implements [Store]. The call reads the entries into memory; the Disk fails
// when it can't. There are none once the Disk is closed or has failed.
func (d *Disk) All(prefix string) iter.Seq2[string, []byte] {
	type entry struct {
		key   string
		value []byte
	}
	var entries []entry
	select {
	case d.using <- struct{}{}:
	case <-d.failed:
		return func(func(string, []byte) bool) {}
	}
	defer func() { <-d.using }()
	if d.shut || d.Err() != nil {
		return func(func(string, []byte) bool) {}
	}
	err := readEntries(d.db, prefix, func(key string, value []byte) {
		entries = append(entries, entry{key, slices.Clone(value)})
	})
	if err != nil {
		d.fail(fmt.Errorf("read entries of %q: %w", prefix, err))
		entries = nil
	}
	return func(yield func(string, []byte) bool) {
		for _, e := range entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// Close implements [Store]. A Disk that has failed is left as it is: Pebble can't
// be closed then, and the folder stays locked until the process ends.
func (d *Disk) Close() error {
	d.closing.Do(func() { d.closeErr = d.close() })
	return d.closeErr
}

func (d *Disk) close() error {
	d.mu.Lock()
	d.closed = true
	d.more.Broadcast()
	d.mu.Unlock()
	select {
	case <-d.finished:
	case <-d.failed:
	}
	close(d.quit)
	d.calling.Wait()
	if d.Err() != nil {
		return nil // which it and the callbacks have told
	}
	d.using <- struct{}{}
	defer func() { <-d.using }()
	d.shut = true
	if err := d.within(d.release); err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// release closes everything, and notes that it did.
func (d *Disk) release() error {
	err := d.db.Close()
	if err == nil {
		err = d.label.write(d.label.last.commit, true)
	}
	if err == nil {
		err = d.label.file.Sync()
	}
	return errors.Join(err, d.label.file.Close(), d.lock.Close())
}
