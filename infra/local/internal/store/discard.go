package store

import (
	"iter"
	"sync"
)

// Discard is a Store that keeps nothing: its batches take effect nowhere, and
// All is always empty. It serves emulators whose state ends with them, which
// never ask for what they gave, and saves the memory of a second copy.
type Discard struct {
	mu      sync.Mutex
	closed  bool
	answers answers
}

var _ Store = (*Discard)(nil)

// NewDiscard makes a Store that keeps nothing.
func NewDiscard() *Discard { return new(Discard) }

// Commit implements [Store].
func (s *Discard) Commit(_ Batch, done func(error)) {
	s.mu.Lock()
	var err error
	if s.closed {
		err = ErrClosed
	}
	s.answers.push(func() { done(err) })
	s.mu.Unlock()
	s.answers.call()
}

// All implements [Store].
func (s *Discard) All(string) iter.Seq2[string, []byte] {
	return func(func(string, []byte) bool) {}
}

// Close implements [Store].
func (s *Discard) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
