package sql

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFeatures(t *testing.T) {
	for text, want := range map[string]Features{
		`SELECT * FROM c`:                               {},
		`SELECT c.id FROM c WHERE c.n > 1`:              {},
		`SELECT * FROM c ORDER BY c.n`:                  {OrderBy: true},
		`SELECT TOP 3 * FROM c`:                         {Top: true},
		`SELECT * FROM c OFFSET 1 LIMIT 2`:              {OffsetLimit: true},
		`SELECT VALUE COUNT(1) FROM c`:                  {Aggregate: true},
		`SELECT DISTINCT VALUE c.n FROM c`:              {Distinct: true},
		`SELECT DISTINCT TOP 1 c.n FROM c ORDER BY c.n`: {Distinct: true, Top: true, OrderBy: true},
	} {
		q := mustParse(t, text, nil)
		if got := q.Features(); got != want || got.Any() != (want != Features{}) {
			t.Errorf("%s has %+v, want %+v", text, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	for text, want := range map[string][2]int{
		`SELECT * FROM c`:                  {0, -1},
		`SELECT TOP 3 * FROM c`:            {0, 3},
		`SELECT TOP @n * FROM c`:           {0, 4},
		`SELECT * FROM c OFFSET 5 LIMIT 0`: {5, 0},
	} {
		offset, limit := mustParse(t, text, map[string]Value{"@n": NumberValue(4)}).Window()
		if got := [2]int{offset, limit}; got != want {
			t.Errorf("%s: window %v, want %v", text, got, want)
		}
	}
}

// Ensure that values sort by type and then by value.
func TestOrder(t *testing.T) {
	q := mustParse(t, "SELECT * FROM c ORDER BY c.a DESC, c.b", nil)
	terms := q.OrderTerms()
	if diff := cmp.Diff([]OrderTerm{{[]string{"a"}, true}, {[]string{"b"}, false}}, terms); diff != "" {
		t.Errorf("terms: %s", diff)
	}
	rows := []string{
		`{"a":{"x":1}}`, `{"a":[1]}`, `{"a":"b"}`, `{"a":"a","b":1}`, `{"a":"a","b":2}`, `{"a":10}`, `{"a":2}`,
		`{"a":true}`, `{"a":false}`, `{"a":null}`, `{"b":null}`, `{"b":0}`,
	}
	var keys [][]Value
	for _, r := range rows {
		keys = append(keys, q.OrderKeys(decode(t, r)))
	}
	if !slices.IsSortedFunc(keys, q.CompareKeys) {
		t.Error("the rows are not in the order of the query")
	}
	for i := range keys[1:] {
		if q.CompareKeys(keys[i], keys[i+1]) >= 0 {
			t.Errorf("%s does not come before %s", rows[i], rows[i+1])
		}
	}
}

func TestAggregates(t *testing.T) {
	numbers := []string{`{"n":1}`, `{"n":4}`, `{}`, `{"n":1}`}
	mixed := append(slices.Clone(numbers), `{"n":"x"}`)
	for _, tc := range []struct {
		text string
		rows []string
		want string
	}{
		{`SELECT VALUE COUNT(1) FROM c`, numbers, `4`},
		{`SELECT VALUE COUNT(c.n) FROM c`, numbers, `3`},
		{`SELECT VALUE SUM(c.n) FROM c`, numbers, `6`},
		{`SELECT VALUE AVG(c.n) FROM c`, numbers, `2`},
		{`SELECT VALUE MIN(c.n) FROM c`, numbers, `1`},
		{`SELECT VALUE MAX(c.n) FROM c`, mixed, `"x"`},
		{`SELECT VALUE SUM(c.n) FROM c`, mixed, ``},
		{`SELECT VALUE COUNT(1) FROM c`, nil, `0`},
		{`SELECT VALUE AVG(c.n) FROM c`, nil, ``},
		{`SELECT VALUE MIN(c.n) FROM c`, nil, ``},
		{`SELECT COUNT(1) AS n, MAX(c.n) FROM c`, numbers, `{"n":4,"$1":4}`},
		{`SELECT VALUE COUNT(1) FROM c WHERE c.n = 1`, numbers, `2`},
	} {
		q := mustParse(t, tc.text, nil)
		a := q.Aggregate()
		for _, r := range tc.rows {
			if row := decode(t, r); q.Matches(row) {
				a.Add(row)
			}
		}
		v, ok := a.Result()
		if got := string(AppendJSON(nil, v)); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s over %d rows gives %q, want %q", tc.text, len(tc.rows), got, tc.want)
		}
	}
}

// Ensure that a query is routed to one partition only when all its rows have
// that value.
func TestPinned(t *testing.T) {
	for filter, want := range map[string]string{
		`c.pk = 'x'`:                          `"x"`,
		`'x' = c.pk`:                          `"x"`,
		`c["pk"] = @p AND c.n > 1`:            `7`,
		`c.n > 1 AND c.pk = null`:             `null`,
		`c.pk = 'x' OR c.n = 1`:               ``,
		`NOT c.pk = 'x'`:                      ``,
		`c.pk != 'x'`:                         ``,
		`c.pk = c.other`:                      ``,
		`c.pk.x = 'x'`:                        ``,
		`(c.pk = 'x' OR c.n = 1) AND c.n > 0`: ``,
	} {
		v, _ := mustParse(t, "SELECT * FROM c WHERE "+filter, map[string]Value{"@p": NumberValue(7)}).Pinned([]string{"pk"})
		if got := string(AppendJSON(nil, v)); got != want {
			t.Errorf("WHERE %s: pinned to %q, want %q", filter, got, want)
		}
	}
	if _, ok := mustParse(t, "SELECT * FROM c", nil).Pinned([]string{"pk"}); ok {
		t.Error("a query without a filter is pinned")
	}
}
