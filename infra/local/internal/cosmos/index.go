package cosmos

import (
	"cmp"
	"strings"

	"github.com/tidwall/btree"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// A pathIndex has the items of a range that have a value at a path, in the order
// of these values and their creation; where it is grouped, in that order within each
// partition, for queries of one. It spares queries to read what they don't want; the
// results are the same without.
type pathIndex = btree.BTreeG[*item]

func newPathIndex(path int, grouped bool) *pathIndex {
	return btree.NewBTreeGOptions(func(a, b *item) bool {
		if grouped && a.key.partition != b.key.partition {
			return a.key.partition < b.key.partition
		}
		return cmp.Or(sql.Compare(a.terms[path], b.terms[path]), cmp.Compare(a.sequence, b.sequence)) < 0
	}, btree.Options{NoLocks: true})
}

// indexedPaths are the paths that a policy includes by name. Those with a
// wildcard, such as the default's, have no index here.
func indexedPaths(properties sql.Value) (paths [][]string) {
	included := properties.At("indexingPolicy", "includedPaths")
	for i := range included.Len() {
		text, ok := strings.CutSuffix(included.Index(i).Member("path").Text(), "/?")
		if path := parsePartitionPath(text); ok && path != nil && !strings.ContainsAny(text, "[]*") {
			paths = append(paths, path)
		}
	}
	return paths
}

// list adds an item to the indexes, or removes it. r.mu is held.
func (r *keyRange) list(i *item, add bool) {
	for n, value := range i.terms {
		if value.Kind() == sql.Undefined {
			continue
		}
		if add {
			r.indexes[n].Set(i)
		} else {
			r.indexes[n].Delete(i)
		}
	}
}

// A place is where an item comes in the order in which a scan reads: that of
// creation or, with an index, that of the spans and of the values in each.
type place struct {
	span     int
	value    sql.Value
	sequence uint64
}

// candidate is an item that a query may want.
type candidate struct {
	*item
	place
}

// candidates gives up to n items behind a place, of one partition or of the whole
// range, as far as the indexes tell that the query wants them. They may have
// expired. r.mu is held.
func (sc *scan) candidates(r *keyRange, behind place, n int) (found []candidate) {
	if sc.spans == nil {
		for _, i := range r.after(sc.partition, behind.sequence, n) {
			found = append(found, candidate{i, place{sequence: i.sequence}})
		}
		return found
	}
	grouped := sc.container.grouped()
	for k := behind.span; k < len(sc.spans) && len(found) < n; k++ {
		span := sc.spans[k]
		first := &item{key: itemKey{partition: sc.partition}, terms: make([]sql.Value, len(r.indexes))}
		first.terms[span.Path] = span.Low()
		if k == behind.span && behind.value.Kind() != sql.Undefined {
			first.terms[span.Path], first.sequence = behind.value, behind.sequence+1
		}
		r.indexes[span.Path].Ascend(first, func(i *item) bool {
			value := i.terms[span.Path]
			if grouped && i.key.partition != sc.partition || span.Ends(value) {
				return false
			}
			if span.Contains(value) && !i.isIn(sc.spans[:k]) {
				found = append(found, candidate{i, place{k, value, i.sequence}})
			}
			return len(found) < n
		})
	}
	return found
}

// isIn reports whether the item is in one of the spans.
func (i *item) isIn(spans []sql.Span) bool {
	for _, s := range spans {
		if s.Contains(i.terms[s.Path]) {
			return true
		}
	}
	return false
}
