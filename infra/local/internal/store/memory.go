package store

import (
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// Memory is a Store that keeps everything in memory and nothing beyond it. A
// commit is done when it is visible to All.
type Memory struct {
	mu      sync.Mutex
	entries btree.Map[string, []byte]
	closed  bool
	answers answers
}

var _ Store = (*Memory)(nil)

// NewMemory makes an empty Store in memory.
func NewMemory() *Memory { return new(Memory) }

// Commit implements [Store].
func (m *Memory) Commit(b Batch, done func(error)) {
	m.mu.Lock()
	err := m.apply(b)
	m.answers.push(func() { done(err) })
	m.mu.Unlock()
	m.answers.call()
}

// apply makes the changes of b; m.mu is held.
func (m *Memory) apply(b Batch) error {
	if m.closed {
		return ErrClosed
	}
	for _, c := range b.changes {
		if c.remove {
			m.entries.Delete(c.key)
		} else {
			m.entries.Set(c.key, c.value)
		}
	}
	return nil
}

// Get implements [Store].
func (m *Memory) Get(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.entries.Get(key)
	if !ok {
		return nil, ErrAbsent
	}
	return value, nil
}

// All implements [Store]. The sequence is a snapshot; taking it costs nothing
// that depends on the number of entries.
func (m *Memory) All(prefix string) iter.Seq2[string, []byte] {
	m.mu.Lock()
	snapshot := m.entries.Copy()
	m.mu.Unlock()
	return func(yield func(string, []byte) bool) {
		snapshot.Ascend(prefix, func(key string, value []byte) bool {
			return strings.HasPrefix(key, prefix) && yield(key, value)
		})
	}
}

// Close implements [Store]. What All gave stays readable.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
