package store

import (
	"fmt"
	"slices"
	"strings"
)

// place is where a value is. It has no pointers, so that the garbage collector
// has nothing to look at in millions of them.
type place struct {
	segment uint32 // the segment's id
	offset  uint32 // a segment ends soon after limits.segment, a commit has at most 1 GiB
	length  uint32
}

// index says where the value of each entry is, and how much of the segments is
// still of use. It is not safe for concurrent use.
type index struct {
	shelves map[string]*shelf
	live    int64 // bytes that the entries take, roughly
}

// shelf is the entries whose keys are equal up to and with the last slash. Most
// of them are numbers of 16 hexadecimal digits, which take a third of the memory
// of a text.
type shelf struct {
	numbers map[uint64]place
	names   map[string]place
}

// entry is a key with the place of its value.
type entry struct {
	key string
	place
}

func newIndex() *index { return &index{shelves: map[string]*shelf{}} }

func entrySize(key string, p place) int64 { return int64(len(key)) + int64(p.length) + entryBytes }

// split divides a key into its shelf and the rest.
func split(key string) (dir, name string) {
	at := strings.LastIndexByte(key, '/') + 1
	return key[:at], key[at:]
}

// numberOf reads the name of an entry that is a number.
func numberOf(name string) (n uint64, ok bool) {
	if len(name) != 16 {
		return 0, false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// get gives the place of an entry.
func (x *index) get(key string) (p place, ok bool) {
	dir, name := split(key)
	f := x.shelves[dir]
	if f == nil {
		return p, false
	}
	if n, isNumber := numberOf(name); isNumber {
		p, ok = f.numbers[n]
	} else {
		p, ok = f.names[name]
	}
	return p, ok
}

func (x *index) put(key string, p place) {
	x.remove(key)
	dir, name := split(key)
	f := x.shelves[dir]
	if f == nil {
		f = &shelf{numbers: map[uint64]place{}, names: map[string]place{}}
		x.shelves[strings.Clone(dir)] = f
	}
	if n, isNumber := numberOf(name); isNumber {
		f.numbers[n] = p
	} else {
		f.names[strings.Clone(name)] = p // not the whole key
	}
	x.live += entrySize(key, p)
}

func (x *index) remove(key string) {
	p, ok := x.get(key)
	if !ok {
		return
	}
	x.live -= entrySize(key, p)
	dir, name := split(key)
	f := x.shelves[dir]
	if n, isNumber := numberOf(name); isNumber {
		delete(f.numbers, n)
	} else {
		delete(f.names, name)
	}
	if len(f.numbers)+len(f.names) == 0 {
		delete(x.shelves, dir)
	}
}

// entries returns the entries whose keys have a prefix, in the order of the keys.
func (x *index) entries(prefix string) []entry {
	var found []entry
	for dir, f := range x.shelves {
		if !strings.HasPrefix(dir, prefix) && !strings.HasPrefix(prefix, dir) {
			continue
		}
		found = slices.Grow(found, len(f.numbers)+len(f.names))
		for n, p := range f.numbers {
			found = append(found, entry{fmt.Sprintf("%s%016x", dir, n), p})
		}
		for name, p := range f.names {
			found = append(found, entry{dir + name, p})
		}
	}
	found = slices.DeleteFunc(found, func(e entry) bool { return !strings.HasPrefix(e.key, prefix) })
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return found
}
