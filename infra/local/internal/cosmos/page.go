package cosmos

import (
	"fmt"
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
		err = sc.aggregatePage(p, r)
	case f.OrderBy || f.Distinct:
		err = sc.sortedPage(p, r)
	default:
		err = sc.plainPage(p, r)
	}
	return p, err
}

// A document is a candidate that was read. Its text is nil when it has expired.
type document struct {
	candidate
	text  []byte
	value sql.Value // unless the scan is covered
}

// each passes the matching items of a range from the scan's position on to take,
// in the order of their creation or of an index, until that returns false or, with
// a positive limit, so many were looked at. It reports whether the range was read
// to its end.
func (sc *scan) each(p *page, r *keyRange, limit int, take func(document) bool) (ended bool, err error) {
	step := scanStep
	if sc.spans != nil { // most of what it finds is wanted
		step = min(step, sc.size+1)
	}
	at, err := sc.position.place()
	if err != nil {
		return false, err
	}
	for {
		var found []document
		if found, p.shows, err = sc.read(r, at, step); err != nil {
			return false, err
		}
		for _, d := range found {
			at = d.place
			p.loaded++
			p.loadedBytes += len(d.text)
			wanted := d.text != nil
			if wanted && !sc.covered {
				if d.value, err = sql.Decode(d.text); err != nil {
					return false, fmt.Errorf("read item %s: %w", d.key.id, err)
				}
				wanted = sc.query.Matches(d.value)
			}
			if wanted && !take(d) {
				return false, nil
			}
			if p.loaded == limit {
				sc.position.move(at)
				return false, nil
			}
		}
		if len(found) < step {
			return true, nil
		}
	}
}

// read reads the candidates behind a place, and tells the state of the range that
// they show.
func (sc *scan) read(r *keyRange, at place, n int) ([]document, state, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	shows := state{r.writes, r.last}
	if r.closed {
		return nil, shows, errOwnerNotFound()
	}
	ttl := sc.container.current.Load().defaultTTL
	var found []document
	for _, c := range sc.candidates(r, at, n) {
		d := document{candidate: c}
		if !c.expired(ttl, sc.now) {
			var err error
			if d.text, err = sc.server.text(sc.container, c.item); err != nil {
				return nil, shows, err
			}
		}
		found = append(found, d)
	}
	return found, shows, nil
}

// plainPage gives results in the order in which the scan finds them. It
// reads one range: at the range's end the page ends, however full it is, and the
// next one begins in the next range. So pages may be short, or empty.
func (sc *scan) plainPage(p *page, r *keyRange) (err error) {
	at := &sc.position
	ended := at.Left == 0
	if !ended {
		ended, err = sc.each(p, r, maxPageScan, func(d document) bool { return sc.takePlain(p, d) })
	}
	switch {
	case err != nil || at.Left == 0:
	case !ended:
		p.more = true
	case at.Range+1 < len(sc.ranges):
		at.move(place{})
		at.Range, p.more = at.Range+1, true
	}
	return err
}

// takePlain adds the result of a document, and reports whether the page has room
// for more.
func (sc *scan) takePlain(p *page, d document) bool {
	at := &sc.position
	result, ok := sc.result(d)
	if ok && p.count > 0 && len(p.documents)+len(result) > maxPageBytes {
		return false // d begins the next page
	}
	at.move(d.place)
	switch {
	case !ok:
		return true
	case at.Skip > 0:
		at.Skip--
		return true
	}
	p.add(result)
	if at.Left > 0 {
		at.Left--
	}
	return p.count < sc.size && at.Left != 0
}

// result is what the query makes of an item, as JSON.
func (sc *scan) result(d document) ([]byte, bool) {
	if sc.query.WholeRow() {
		return d.text, true
	}
	v, ok := sc.query.Project(d.value)
	if !ok {
		return nil, false
	}
	return sql.AppendJSON(nil, v), true
}

// aggregatePage gives the only result of a query with aggregates.
func (sc *scan) aggregatePage(p *page, r *keyRange) error {
	a := sc.query.Aggregate()
	_, err := sc.each(p, r, 0, func(d document) bool {
		a.Add(d.value)
		return true
	})
	if err != nil {
		return err
	}
	if v, ok := a.Result(); ok && sc.position.Skip == 0 && sc.position.Left != 0 {
		p.add(sql.AppendJSON(nil, v))
	}
	return nil
}
