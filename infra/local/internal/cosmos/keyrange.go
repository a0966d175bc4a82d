package cosmos

import (
	"cmp"
	"slices"
	"sync"

	"github.com/tidwall/btree"
)

// A keyRange keeps the items whose partition keys hash to it: what the service
// calls a physical partition.
type keyRange struct {
	index int // its place among the container's ranges, and its id

	mu         sync.RWMutex
	closed     bool // the container was deleted
	items      map[itemKey]*item
	order      *btree.BTreeG[*item] // by sequence
	partitions map[string][]*item   // by encoded partition key, each by sequence; nil where each item is one
	indexes    []*pathIndex         // of the container's indexed paths
	writes     int64                // the logical sequence number
	last       *commit              // of the latest write
}

// A state says how far a range had come when it was read.
type state struct {
	writes int64
	last   *commit
}

func newKeyRange(index, indexes int, grouped bool) *keyRange {
	r := &keyRange{
		index: index,
		items: make(map[itemKey]*item),
		order: btree.NewBTreeGOptions(func(a, b *item) bool { return a.sequence < b.sequence }, btree.Options{NoLocks: true}),
	}
	if grouped {
		r.partitions = make(map[string][]*item)
	}
	for path := range indexes {
		r.indexes = append(r.indexes, newPathIndex(path, grouped))
	}
	return r
}

// put makes i the current version. r.mu is held.
func (r *keyRange) put(i *item) {
	r.items[i.key] = i
	if before, replaced := r.order.Set(i); replaced {
		r.list(before, false)
	}
	r.list(i, true)
	if r.partitions == nil {
		return
	}
	partition := r.partitions[i.key.partition]
	at, found := slices.BinarySearchFunc(partition, i.sequence, bySequence)
	if found {
		partition[at] = i
		return
	}
	r.partitions[i.key.partition] = slices.Insert(partition, at, i)
}

// remove takes out an item. r.mu is held.
func (r *keyRange) remove(i *item) {
	delete(r.items, i.key)
	r.order.Delete(i)
	r.list(i, false)
	partition := r.partitions[i.key.partition]
	at, found := slices.BinarySearchFunc(partition, i.sequence, bySequence)
	if !found { // or there are no partitions
		return
	}
	if len(partition) == 1 {
		delete(r.partitions, i.key.partition)
		return
	}
	r.partitions[i.key.partition] = slices.Delete(partition, at, at+1)
}

func bySequence(i *item, sequence uint64) int { return cmp.Compare(i.sequence, sequence) }

// after gives up to n items whose sequence is above that, of one partition or,
// with an empty partition, of the whole range. The items may have expired. r.mu is
// held.
func (r *keyRange) after(partition string, sequence uint64, n int) (found []*item) {
	if partition != "" && r.partitions == nil {
		if i := r.items[itemKey{partition, soleID(partition)}]; i != nil && i.sequence > sequence {
			found = append(found, i)
		}
		return found
	}
	if partition != "" {
		all := r.partitions[partition]
		i, _ := slices.BinarySearchFunc(all, sequence+1, bySequence)
		return slices.Clone(all[i:min(i+n, len(all))])
	}
	r.order.Ascend(&item{sequence: sequence + 1}, func(i *item) bool {
		found = append(found, i)
		return len(found) < n
	})
	return found
}
