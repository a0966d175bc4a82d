package recordtest

import "sync"

// Script is a Memory.Before that makes given faults happen to the next
// operations of a kind, one after the other. The zero value has none. It is
// safe for concurrent use.
type Script struct {
	mu     sync.Mutex
	faults map[Op][]Fault
	seen   map[Op]int
}

// Next makes the faults happen to the next operations of that kind.
func (s *Script) Next(op Op, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults == nil {
		s.faults = map[Op][]Fault{}
	}
	s.faults[op] = append(s.faults[op], faults...)
}

// Clear forgets the faults that have not happened.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Seen returns how many operations of a kind were begun.
func (s *Script) Seen(op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[op]
}

// Before is to be set as Memory.Before.
func (s *Script) Before(op Op, _ string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[Op]int{}
	}
	s.seen[op]++
	queue := s.faults[op]
	if len(queue) == 0 {
		return None
	}
	s.faults[op] = queue[1:]
	return queue[0]
}
