package store

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// A Disk is a Store in a folder. A commit is done when it would survive a power
// cut: commits that wait at the same time share one sync of the log.
//
// A commit that can't be made durable is the end of the Disk: it and all later
// ones get the error, and Failed is closed. Whatever was acknowledged is there
// after the next opening.
type Disk struct {
	lock     io.Closer
	label    *label
	log      *log
	recovery Recovery

	mu      sync.Mutex
	more    sync.Cond        // waiting, closed or failure has changed
	waiting []request        // in the order of the Commit calls
	taken   []request        // what the committer is at
	young   map[string]young // what waiting and taken change
	commits uint64           // Commit calls
	closed  bool
	ended   bool // nothing waits any more, and nothing will
	failure error
	answers answers // has a lock of its own

	using sync.RWMutex // held by who reads; guards shut
	shut  bool         // log, label and lock are closed

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
	FS files.FS // default: that of the operating system

	limits limits // default: defaultLimits
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
// The error wraps ErrInUse, ErrForeign, ErrOlder, ErrNewer or ErrDamaged where it
// is one of them. Close must be called.
func OpenDisk(dir string, o Options) (*Disk, error) {
	if o.FS == nil {
		o.FS = files.System{}
	}
	if o.limits == (limits{}) {
		o.limits = defaultLimits
	}
	d := &Disk{
		young:  make(map[string]young),
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
	var torn int64
	if d.log, last, torn, err = load(o.FS, dir, o.limits, before.commit); err != nil {
		return 0, err
	}
	d.recovery = Recovery{Fresh: fresh, Clean: before.clean, Torn: torn}
	if err := d.begin(last); err != nil {
		return 0, errors.Join(err, d.log.close())
	}
	return last, nil
}

// begin notes that the Disk is open, and has the commits up to last.
func (d *Disk) begin(last uint64) error {
	if err := d.label.write(last, false); err != nil {
		return err
	}
	return d.label.file.Sync()
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

// Get implements [Store]. It reads from the file system, which has what was
// written last in memory.
func (d *Disk) Get(key string) ([]byte, error) {
	d.mu.Lock()
	c, ok := d.young[key]
	d.mu.Unlock()
	switch {
	case ok && c.remove:
		return nil, ErrAbsent
	case ok:
		return c.value, nil
	}
	d.using.RLock()
	defer d.using.RUnlock()
	if d.shut {
		return nil, ErrClosed
	}
	value, err := d.log.get(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return value, nil
}

// All implements [Store]. The entries are of what is durable; each is read when its
// turn comes, and the Disk fails when that can't be. There are none once the Disk
// is closed or has failed.
func (d *Disk) All(prefix string) iter.Seq2[string, []byte] {
	entries := d.log.pin(prefix)
	return func(yield func(string, []byte) bool) {
		defer d.log.unpin()
		for _, e := range entries {
			value, ok := d.read(e)
			if !ok || !yield(e.key, value) {
				return
			}
		}
	}
}

// read reads the value of an entry of All; ok is false when it can't.
func (d *Disk) read(e entry) (value []byte, ok bool) {
	d.using.RLock()
	defer d.using.RUnlock()
	if d.shut || d.Err() != nil {
		return nil, false
	}
	value, err := d.log.read(e.place)
	if err != nil {
		d.fail(fmt.Errorf("read %s: %w", e.key, err))
		return nil, false
	}
	return value, true
}

// Close implements [Store].
func (d *Disk) Close() error {
	d.closing.Do(func() { d.closeErr = d.close() })
	return d.closeErr
}

func (d *Disk) close() error {
	d.mu.Lock()
	d.closed = true
	d.more.Broadcast()
	d.mu.Unlock()
	<-d.finished
	close(d.quit)
	d.calling.Wait()
	d.using.Lock()
	defer d.using.Unlock()
	d.shut = true
	err := d.release()
	if d.Err() != nil {
		return nil // which it and the callbacks have told
	}
	if err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// release closes everything, and notes that it did, unless the Disk has failed.
func (d *Disk) release() error {
	err := d.log.close()
	if err == nil && d.Err() == nil {
		err = d.label.write(d.label.last.commit, true)
		if err == nil {
			err = d.label.file.Sync()
		}
	}
	return errors.Join(err, d.label.file.Close(), d.lock.Close())
}
