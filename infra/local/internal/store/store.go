// Package store keeps what the emulators must not forget: one ordered map from
// keys to values, changed by batches that take effect whole or not at all.
//
// The emulators hand every change to the store before they acknowledge it. In
// memory they keep only indexes, which they read back once at the start; the
// contents stay in the store. So the store alone decides how durable an
// acknowledgement is, and where contents lie: [Disk] survives kill -9 and power
// cuts and has its values on disk, [Memory] lives as long as the process.
//
// A Disk is a folder with a log of commits and a label (see disk_label.go).
// Each commit has a number. Before it changes anything, opening checks that the
// numbers have no gap up to the last one that the label calls acknowledged; a
// torn rest of the log behind it is dropped and reported. So acknowledged data
// is there, or its loss is an error, never silent.
//
// Reading order: store.go, memory.go; disk.go (opening, reading, closing),
// disk_commit.go (group commit), disk_log.go (the segments of the log, and how
// they are kept few), disk_record.go (a commit in a segment), disk_index.go,
// disk_load.go (whether all is there), disk_folder.go and disk_label.go (whose
// folder it is), files.go (the file system).
package store

import (
	"errors"
	"iter"
)

var (
	// ErrClosed is given to the callbacks of batches that came after Close.
	ErrClosed = errors.New("store: closed")
	// ErrAbsent: there is no entry with that key.
	ErrAbsent = errors.New("store: no such entry")
)

// A Store is safe for concurrent use.
type Store interface {
	// Commit takes a batch. done is called exactly once, when the batch is as
	// durable as this store makes things or has failed; it may be called
	// before Commit returns, and on another goroutine, and must not block.
	// Batches take effect, and their callbacks are called, in the order of the
	// Commit calls. The store owns the batch and its values from here on.
	Commit(b Batch, done func(error))

	// Get gives the value of a key as of the latest Commit call, whether that
	// is durable yet or not. It must not be changed. The error wraps ErrAbsent
	// when there is no such entry.
	Get(key string) ([]byte, error)

	// All gives every entry whose key begins with prefix, in ascending order
	// of keys (bytewise), as of the call. The values must not be changed. The
	// sequence is to be run, once: until then a Disk keeps what the entries have
	// replaced.
	All(prefix string) iter.Seq2[string, []byte]

	// Close waits for the batches that were taken and releases what the store
	// holds.
	Close() error
}

// A Batch is a list of changes. The zero value is empty and ready to use.
type Batch struct {
	changes []change
}

type change struct {
	key    string
	value  []byte
	remove bool
}

// Put sets key to value.
func (b *Batch) Put(key string, value []byte) {
	b.changes = append(b.changes, change{key: key, value: value})
}

// Delete removes key; an absent key is no error.
func (b *Batch) Delete(key string) {
	b.changes = append(b.changes, change{key: key, remove: true})
}

// size is how many bytes of keys and values b has.
func (b *Batch) size() int {
	n := 0
	for _, c := range b.changes {
		n += len(c.key) + len(c.value)
	}
	return n
}

// Empty reports whether b has no change.
func (b *Batch) Empty() bool { return len(b.changes) == 0 }

// Apply commits b and waits for it.
func Apply(s Store, b Batch) error {
	done := make(chan error, 1)
	s.Commit(b, func(err error) { done <- err })
	return <-done
}
