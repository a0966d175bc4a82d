package cosmos

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// A row is a result with what sorts it: its ORDER BY values and, among equals, a
// tie that is the same for every page.
type row struct {
	keys   []sql.Value
	tie    string
	result []byte
}

// sortedPage gives the results of a query with ORDER BY or DISTINCT over one
// partition or range. Each page sorts anew and goes on behind the last row of
// the page before, wherever that would be now.
func (sc *scan) sortedPage(p *page, r *keyRange) error {
	at := &sc.position
	rows, err := sc.rows(p, r)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, sc.compare)
	if sc.query.Features().Distinct {
		rows = distinct(rows)
	}
	if at.Started {
		keys, err := at.keys()
		if err != nil || len(keys) != len(sc.query.OrderTerms()) {
			return errContinuation()
		}
		before := row{keys: keys, tie: at.Tie}
		first, found := slices.BinarySearchFunc(rows, before, sc.compare)
		if found {
			first++
		}
		rows = rows[first:]
	}
	skipped := min(at.Skip, len(rows))
	rows, at.Skip = rows[skipped:], at.Skip-skipped
	if at.Left >= 0 {
		rows = rows[:min(at.Left, len(rows))]
	}
	for i, row := range rows {
		if p.count == sc.size || p.count > 0 && len(p.documents)+len(row.result) > maxPageBytes {
			last := rows[i-1]
			at.setKeys(last.keys)
			at.Tie, at.Started, p.more = last.tie, true, true
			break
		}
		p.add(row.result)
	}
	if at.Left >= 0 {
		at.Left -= p.count
	}
	return nil
}

func (sc *scan) rows(p *page, r *keyRange) ([]row, error) {
	missing := sc.container.current.Load().sortsMissing(sc.query.OrderTerms())
	isDistinct := sc.query.Features().Distinct
	var rows []row
	_, err := sc.each(p, r, 0, func(d document) bool {
		keys := sc.query.OrderKeys(d.value)
		lacks := slices.ContainsFunc(keys, func(v sql.Value) bool { return v.Kind() == sql.Undefined })
		if lacks && !missing {
			return true
		}
		v, ok := sc.query.Project(d.value)
		if !ok {
			return true
		}
		tie := fmt.Sprintf("%016x", d.item.sequence)
		if isDistinct { // equal results are one, whichever item made them
			tie = fmt.Sprintf("%x", sha256.Sum256(sql.AppendJSON(nil, v.Canonical())))
		}
		rows = append(rows, row{keys, tie, sql.AppendJSON(nil, v)})
		return true
	})
	return rows, err
}

func (sc *scan) compare(a, b row) int {
	if c := sc.query.CompareKeys(a.keys, b.keys); c != 0 {
		return c
	}
	return cmp.Compare(a.tie, b.tie)
}

// distinct keeps the first of the rows with equal results.
func distinct(rows []row) []row {
	seen := make(map[string]bool, len(rows))
	return slices.DeleteFunc(rows, func(r row) bool {
		again := seen[r.tie]
		seen[r.tie] = true
		return again
	})
}
