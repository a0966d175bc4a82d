// Package store keeps what the emulators must not forget: one ordered map from
// keys to values, changed by batches that take effect whole or not at all.
//
// The emulators work on their own state in memory. They hand every change to
// the store before they acknowledge it, and read everything back once, when
// they start. So the store decides alone how durable an acknowledgement is.
package store

import (
	"errors"
	"iter"
)

// ErrClosed is given to the callbacks of batches that came after Close.
var ErrClosed = errors.New("store: closed")

// A Store is safe for concurrent use.
type Store interface {
	// Commit takes a batch. done is called exactly once, when the batch is as
	// durable as this store makes things or has failed; it may be called
	// before Commit returns, and on another goroutine, and must not block.
	// Batches take effect, and their callbacks are called, in the order of the
	// Commit calls. The store owns the batch and its values from here on.
	Commit(b Batch, done func(error))

	// All gives every entry whose key begins with prefix, in ascending order
	// of keys (bytewise), as of the call. The values must not be changed.
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

// Empty reports whether b has no change.
func (b *Batch) Empty() bool { return len(b.changes) == 0 }

// Apply commits b and waits for it.
func Apply(s Store, b Batch) error {
	done := make(chan error, 1)
	s.Commit(b, func(err error) { done <- err })
	return <-done
}
