package store

import (
	"maps"
	"slices"
	"strings"
)

// place is where a value is.
type place struct {
	segment *segment
	offset  int64
	length  int
}

// index says where the value of each entry is, and how much of the segments is
// still of use. It is not safe for concurrent use.
type index struct {
	places map[string]place
	live   int64 // bytes that the entries take, roughly
}

func newIndex() *index { return &index{places: map[string]place{}} }

func (x *index) put(key string, p place) {
	x.remove(key)
	x.places[key] = p
	x.live += int64(len(key) + p.length + entryBytes)
}

func (x *index) remove(key string) {
	if p, ok := x.places[key]; ok {
		x.live -= int64(len(key) + p.length + entryBytes)
		delete(x.places, key)
	}
}

// keys returns the keys with a prefix in their order.
func (x *index) keys(prefix string) []string {
	var keys []string
	for key := range maps.Keys(x.places) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
