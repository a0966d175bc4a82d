package cosmos

import (
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

const (
	// maxPageBytes is the largest page (Microsoft Learn, "Azure Cosmos DB service
	// quotas": 4 MB per response).
	maxPageBytes = 4 << 20
	// maxPageScan is how many items are looked at for one page, so that one
	// request doesn't read a whole range of items that it doesn't want.
	maxPageScan = 10_000
	// scanStep is how many items are taken from a range at a time.
	scanStep = 256
)

// A page is one answer to a query.
type page struct {
	documents   []byte // the results as JSON, with commas between
	count       int
	more        bool // the scan's position is where the next page begins
	loaded      int
	loadedBytes int
	rangeIndex  int
	shows       state // of that range
}

func (p *page) add(result []byte) {
	if p.count > 0 {
		p.documents = append(p.documents, ',')
	}
	p.documents = append(p.documents, result...)
	p.count++
}

func (p *page) body(rid string) []byte {
	b := make([]byte, 0, len(p.documents)+len(rid)+64)
	b = append(b, `{"_rid":"`...)
	b = append(b, rid...)
	b = append(b, `","Documents":[`...)
	b = append(b, p.documents...)
	b = append(b, `],"_count":`...)
	b = strconv.AppendInt(b, int64(p.count), 10)
	return append(b, '}')
}

// page reads the page at the scan's position and moves the position on.
func (sc *scan) page() (*page, error) {
	r := sc.ranges[sc.position.Range]
	p := &page{rangeIndex: r.index}
	var err error
	switch f := sc.query.Features(); {
	case f.Aggregate:
		sc.aggregatePage(p, r)
	case f.OrderBy || f.Distinct:
		err = sc.sortedPage(p, r)
	default:
		sc.plainPage(p, r)
	}
	return p, err
}

// each passes the matching items of a range, in the order of their creation and
// from a sequence on, to take, until that returns false or, with a positive
// limit, so many were looked at. It reports whether the range was read to its
// end.
func (sc *scan) each(p *page, r *keyRange, limit int, take func(*item) bool) bool {
	ttl := sc.container.current.Load().defaultTTL
	sequence := sc.position.Sequence
	for {
		var items []*item
		items, p.shows = r.after(sc.partition, sequence, scanStep)
		for _, i := range items {
			sequence = i.sequence
			p.loaded++
			if !i.expired(ttl, sc.now) && sc.query.Matches(i.value) {
				p.loadedBytes += len(i.text)
				if !take(i) {
					return false
				}
			}
			if p.loaded == limit {
				sc.position.Sequence = sequence
				return false
			}
		}
		if len(items) < scanStep {
			return true
		}
	}
}

// plainPage gives results in the order in which their items were created. It
// reads one range: at the range's end the page ends, however full it is, and the
// next one begins in the next range. So pages may be short, or empty.
func (sc *scan) plainPage(p *page, r *keyRange) {
	at := &sc.position
	ended := at.Left == 0 || sc.each(p, r, maxPageScan, func(i *item) bool {
		result, ok := sc.result(i)
		if !ok {
			at.Sequence = i.sequence
			return true
		}
		if p.count > 0 && len(p.documents)+len(result) > maxPageBytes {
			return false // i begins the next page
		}
		at.Sequence = i.sequence
		if at.Skip > 0 {
			at.Skip--
			return true
		}
		p.add(result)
		if at.Left > 0 {
			at.Left--
		}
		return p.count < sc.size && at.Left != 0
	})
	switch {
	case at.Left == 0:
	case !ended:
		p.more = true
	case at.Range+1 < len(sc.ranges):
		at.Range, at.Sequence, p.more = at.Range+1, 0, true
	}
}

// result is what the query makes of an item, as JSON.
func (sc *scan) result(i *item) ([]byte, bool) {
	if sc.query.WholeRow() {
		return i.text, true
	}
	v, ok := sc.query.Project(i.value)
	if !ok {
		return nil, false
	}
	return sql.AppendJSON(nil, v), true
}

// aggregatePage gives the only result of a query with aggregates.
func (sc *scan) aggregatePage(p *page, r *keyRange) {
	a := sc.query.Aggregate()
	sc.each(p, r, 0, func(i *item) bool {
		a.Add(i.value)
		return true
	})
	if v, ok := a.Result(); ok && sc.position.Skip == 0 && sc.position.Left != 0 {
		p.add(sql.AppendJSON(nil, v))
	}
}
