package store

import "testing"

// Ensure that what entries take is counted, however they are changed.
func TestIndexCountsWhatIsLive(t *testing.T) {
	x := newIndex()
	for round := range 3 {
		x.put("a", place{1, 0, 10})
		x.put("a", place{1, 10, 20})
		x.put("b", place{1, 30, 5})
		if want := int64(1 + 20 + entryBytes + 1 + 5 + entryBytes); x.live != want {
			t.Errorf("round %d: %d bytes live, want %d", round, x.live, want)
		}
		x.remove("a")
		x.remove("a")
		x.remove("b")
		if x.live != 0 || len(x.shelves) != 0 {
			t.Errorf("round %d: %d bytes live of %v", round, x.live, x.shelves)
		}
	}
}
