package store

import "testing"

func TestMemory(t *testing.T) {
	conforms(t, func(*testing.T) Store { return NewMemory() })
}
