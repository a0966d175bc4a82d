package store

import (
	"errors"
	"testing"
)

func TestMemory(t *testing.T) {
	conforms(t, func(*testing.T) Store { return NewMemory() })
}

// Ensure that Discard answers as other stores do, though it keeps nothing.
func TestDiscard(t *testing.T) {
	s := NewDiscard()
	var order []int
	for i := range 3 {
		s.Commit(Batch{}, func(err error) {
			order = append(order, i)
			if i == 0 {
				s.Commit(Batch{}, func(error) { order = append(order, 10) })
			}
			if err != nil {
				t.Errorf("commit %d: %v", i, err)
			}
		})
	}
	if len(order) != 4 || order[0] != 0 || order[1] != 10 {
		t.Errorf("answered in the order %v", order)
	}
	apply(t, s, "a=1")
	want(t, s, "")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := Apply(s, Batch{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a commit after Close gave %v", err)
	}
}
