package cosmos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// results reads all pages of a query and gives the results as JSON, and how many
// pages there were.
func (f *fixture) results(text, partition string, pageSize int) (results []string, pages int) {
	f.Helper()
	headers := []string{"x-ms-max-item-count", strconv.Itoa(pageSize)}
	for {
		page, token := f.page(text, partition, headers...)
		if len(page) > pageSize {
			f.Fatalf("%s: a page of %d, want %d at most", text, len(page), pageSize)
		}
		results, pages = append(results, page...), pages+1
		if token == "" {
			return results, pages
		}
		headers = []string{"x-ms-max-item-count", strconv.Itoa(pageSize), "x-ms-continuation", token}
	}
}

func (f *fixture) page(text, partition string, headers ...string) (results []string, token string) {
	f.Helper()
	w := f.query(text, partition, headers...)
	var body struct {
		Documents []json.RawMessage
		Count     int `json:"_count"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); w.Code != http.StatusOK || err != nil {
		f.Fatalf("%s: status %d, body %s, %v", text, w.Code, w.Body, err)
	}
	if body.Count != len(body.Documents) || w.Header().Get("x-ms-item-count") != strconv.Itoa(body.Count) {
		f.Fatalf("%s: %d results, counted as %d and %s", text, len(body.Documents), body.Count, w.Header().Get("x-ms-item-count"))
	}
	for _, d := range body.Documents {
		results = append(results, string(d))
	}
	return results, w.Header().Get("x-ms-continuation")
}

// fill creates items 0 to n-1 in the partition p, with n, n mod 3 and, on even
// ones, s.
func (f *fixture) fill(n int) {
	f.Helper()
	for i := range n {
		s := ""
		if i%2 == 0 {
			s = fmt.Sprintf(`,"s":"%c"`, 'a'+i)
		}
		f.want(f.item("POST", "", fmt.Sprintf(`{"id":"%d","pk":"p","n":%d,"mod":%d%s}`, i, i, i%3, s)), http.StatusCreated)
	}
}

// Ensure the results of queries in one partition, with pages of every size.
func TestQueryPartition(t *testing.T) {
	f := newFixture(t, `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"indexingPolicy":{"indexingMode":"consistent",
		"compositeIndexes":[[{"path":"/mod","order":"ascending"},{"path":"/n","order":"descending"}]]}}`)
	f.fill(7)
	f.want(f.do("POST", "/dbs/d/colls/c/docs", `{"id":"x","pk":"q","n":100}`, "x-ms-documentdb-partitionkey", `["q"]`), http.StatusCreated)
	for _, tc := range []struct {
		text string
		want []string
	}{
		{`SELECT VALUE c.n FROM c`, []string{"0", "1", "2", "3", "4", "5", "6"}},
		{`SELECT VALUE c.n FROM c WHERE c.n > 1 AND c.mod = 1`, []string{"4"}},
		{`SELECT c.n, c.s AS t FROM c WHERE c.n < 2`, []string{`{"n":0,"t":"a"}`, `{"n":1}`}},
		{`SELECT VALUE c.s FROM c`, []string{`"a"`, `"c"`, `"e"`, `"g"`}},
		{`SELECT VALUE c.n FROM c ORDER BY c.n DESC`, []string{"6", "5", "4", "3", "2", "1", "0"}},
		{`SELECT VALUE c.n FROM c ORDER BY c.mod`, []string{"0", "3", "6", "1", "4", "2", "5"}},
		{`SELECT VALUE c.n FROM c ORDER BY c.mod, c.n DESC`, []string{"6", "3", "0", "4", "1", "5", "2"}},
		{`SELECT VALUE c.n FROM c ORDER BY c.mod DESC, c.n`, []string{"2", "5", "1", "4", "0", "3", "6"}},
		{`SELECT VALUE c.n FROM c ORDER BY c.s DESC`, []string{"6", "4", "2", "0"}},
		{`SELECT TOP 3 VALUE c.n FROM c`, []string{"0", "1", "2"}},
		{`SELECT TOP 0 VALUE c.n FROM c`, nil},
		{`SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n DESC`, []string{"6", "5", "4", "3"}},
		{`SELECT VALUE c.n FROM c OFFSET 2 LIMIT 3`, []string{"2", "3", "4"}},
		{`SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 5 LIMIT 9`, []string{"1", "0"}},
		{`SELECT VALUE c.n FROM c OFFSET 9 LIMIT 9`, nil},
		{`SELECT DISTINCT VALUE c.mod FROM c ORDER BY c.mod DESC`, []string{"2", "1", "0"}},
		{`SELECT VALUE COUNT(1) FROM c`, []string{"7"}},
		{`SELECT VALUE SUM(c.n) FROM c WHERE c.mod = 0`, []string{"9"}},
		{`SELECT COUNT(1) AS count, MIN(c.s) AS least FROM c`, []string{`{"count":7,"least":"a"}`}},
		{`SELECT VALUE AVG(c.missing) FROM c`, nil},
	} {
		for size := 1; size <= 8; size++ {
			if got, _ := f.results(tc.text, `["p"]`, size); !slices.Equal(got, tc.want) {
				t.Errorf("%s in pages of %d gives %v, want %v", tc.text, size, got, tc.want)
			}
		}
	}
	got, _ := f.results(`SELECT DISTINCT VALUE c.mod FROM c`, `["p"]`, 2)
	slices.Sort(got)
	if want := []string{"0", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("DISTINCT gives %v, want %v", got, want)
	}
	if got, _ := f.results(`SELECT VALUE c.n FROM c WHERE c.pk = 'p' ORDER BY c.n OFFSET 5 LIMIT 5`, "", 3); !slices.Equal(got, []string{"5", "6"}) {
		t.Errorf("a query that names its partition gives %v", got)
	}
}

// Ensure that a query across partitions gives every item once, in pages that may
// be short, and that the gateway refuses what needs a query plan.
func TestQueryAcrossPartitions(t *testing.T) {
	f := newFixture(t, plainContainer)
	want := make([]string, 20)
	for i := range want {
		want[i] = strconv.Itoa(i)
		f.want(f.do("POST", "/dbs/d/colls/c/docs", fmt.Sprintf(`{"id":"a","pk":%d,"n":%d}`, i, i), "x-ms-documentdb-partitionkey", fmt.Sprintf("[%d]", i)), http.StatusCreated)
	}
	slices.Sort(want)
	for size := 1; size <= 21; size++ {
		got, pages := f.results(`SELECT VALUE c.n FROM c`, "", size)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d give %v", size, got)
		}
		if size > 20 && pages != 2 {
			t.Errorf("%d pages for two ranges", pages)
		}
	}
	// One match: the page of the other range is empty and has a continuation, or
	// is the last.
	if got, pages := f.results(`SELECT VALUE c.n FROM c WHERE c.n = 7`, "", 10); !slices.Equal(got, []string{"7"}) || pages != 2 {
		t.Errorf("one match: %v on %d pages", got, pages)
	}
	for _, text := range []string{
		`SELECT * FROM c ORDER BY c.n`, `SELECT TOP 1 * FROM c`, `SELECT * FROM c OFFSET 1 LIMIT 1`,
		`SELECT VALUE COUNT(1) FROM c`, `SELECT DISTINCT VALUE c.n FROM c`,
	} {
		f.refuses(f.query(text, ""), 400, "1004", "The provided cross partition query can not be directly served by the gateway")
		f.want(f.query(text, "[1]"), http.StatusOK)
	}
	f.refuses(f.query(`SELECT * FROM c GROUP BY c.n`, ""), 400, "0", "SC3000")
	f.refuses(f.query(`SELECT * FROM c`, "", "x-ms-documentdb-query-enablecrosspartition", "false"), 400, "0", "Cross partition query is required but disabled")
	f.refuses(f.query(`SELECT * FROM c ORDER BY c.n, c.id`, "[1]"), 400, "0", "composite index")
}

// Ensure that an error in a query is an error, with its place, and never an
// answer.
func TestQueryErrors(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.fill(2)
	f.refuses(f.query(`SELECT * FROM c WHERE c.n = `, `["p"]`), 400, "0", `"location":{"start":28,"end":28},"code":"SC1002"`)
	f.refuses(f.query(`SELEC * FROM c`, ``), 400, "0", `"code":"SC1001","message":"Syntax error, incorrect syntax near 'SELEC'."`)
	f.refuses(f.query(``, `["p"]`), 400, "0", "query text")
	query := []string{"Content-Type", "application/query+json", "x-ms-documentdb-partitionkey", `["p"]`}
	f.refuses(f.do("POST", "/dbs/d/colls/c/docs", `{"query":`, query...), 400, "0", "JSON")
	f.refuses(f.do("POST", "/dbs/d/colls/c/docs", `{"query":"SELECT * FROM c","parameters":[{"name":"n"}]}`, query...), 400, "0", "parameter name")
	f.refuses(f.query(`SELECT * FROM c`, `["p"]`, "x-ms-max-item-count", "many"), 400, "0", "x-ms-max-item-count")
	f.refuses(f.query(`SELECT * FROM c`, `["p"]`, "x-ms-continuation", "rubbish"), 400, "0", "Invalid Continuation Token")
	f.refuses(f.query(`SELECT * FROM c`, ``, "x-ms-documentdb-partitionkeyrangeid", "7"), 410, "1002", "'7'")
	_, token := f.page(`SELECT * FROM c`, `["p"]`, "x-ms-max-item-count", "1")
	f.refuses(f.query(`SELECT * FROM c WHERE true`, `["p"]`, "x-ms-continuation", token), 400, "0", "Invalid Continuation Token")
}

// Ensure that a continuation goes on behind what was seen, whatever is written
// between the pages: nothing twice, nothing missed that was there all the time.
func TestContinuationSurvivesWrites(t *testing.T) {
	for _, text := range []string{`SELECT VALUE c.n FROM c`, `SELECT VALUE c.n FROM c ORDER BY c.n`, `SELECT VALUE c.n FROM c ORDER BY c.mod`} {
		f := newFixture(t, plainContainer)
		f.fill(12)
		seen := map[string]int{}
		headers := []string{"x-ms-max-item-count", "3"}
		for step := 0; ; step++ {
			page, token := f.page(text, `["p"]`, headers...)
			for _, n := range page {
				seen[n]++
			}
			if token == "" {
				break
			}
			// Take away what was just seen, change what was not, add on both sides.
			if len(page) > 0 && len(page[0]) == 1 {
				f.want(f.item("DELETE", page[0], ""), http.StatusNoContent)
			}
			f.want(f.item("PATCH", "11", `{"operations":[{"op":"incr","path":"/touched","value":1}]}`), http.StatusOK)
			for _, n := range []int{-100 - step, 100 + step} {
				f.want(f.item("POST", "", fmt.Sprintf(`{"id":"new%d","pk":"p","n":%d,"mod":%d}`, n, n, n)), http.StatusCreated)
			}
			headers = []string{"x-ms-max-item-count", "3", "x-ms-continuation", token}
			if step > 50 {
				break // rows are added at the end as fast as they are read
			}
		}
		for i := range 12 {
			if got := seen[strconv.Itoa(i)]; got != 1 {
				t.Errorf("%s gives %d %d times", text, i, got)
			}
		}
		for n, times := range seen {
			if times != 1 {
				t.Errorf("%s gives %s %d times", text, n, times)
			}
		}
	}
}

// Ensure that items without the path of ORDER BY are given only when the
// indexing policy names that path.
func TestOrderByMissingPath(t *testing.T) {
	for policy, want := range map[string]int{`{"path":"/*"}`: 2, `{"path":"/*"},{"path":"/s/?"}`: 3} {
		f := newFixture(t, `{"id":"c","partitionKey":{"paths":["/pk"]},"indexingPolicy":{"includedPaths":[`+policy+`]}}`)
		f.fill(3)
		if got, _ := f.results(`SELECT VALUE c.n FROM c ORDER BY c.s`, `["p"]`, 10); len(got) != want {
			t.Errorf("with %s: %v, want %d results", policy, got, want)
		}
	}
}

// Ensure that a query to one range gives what is in that range.
func TestQueryRange(t *testing.T) {
	f := newFixture(t, plainContainer)
	for i := range 10 {
		f.want(f.do("POST", "/dbs/d/colls/c/docs", fmt.Sprintf(`{"id":"a","pk":%d}`, i), "x-ms-documentdb-partitionkey", fmt.Sprintf("[%d]", i)), http.StatusCreated)
	}
	ranges := f.want(f.do("GET", "/dbs/d/colls/c/pkranges", ""), http.StatusOK)
	total := 0
	for _, r := range ranges["PartitionKeyRanges"].([]any) {
		id := r.(map[string]any)["id"].(string)
		page, _ := f.page(`SELECT * FROM c`, "", rangeHeader, id)
		qualified, _ := f.page(`SELECT * FROM c`, "", rangeHeader, ranges["_rid"].(string)+","+id)
		if !slices.Equal(page, qualified) {
			t.Errorf("range %s gives %v and %v", id, page, qualified)
		}
		total += len(page)
	}
	if total != 10 {
		t.Errorf("the ranges have %d items together, want 10", total)
	}
}

func TestListItems(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.fill(5)
	if n := f.want(f.item("GET", "", ""), http.StatusOK)["_count"]; n != 5.0 {
		t.Errorf("the feed of the partition has %v items", n)
	}
	w := f.do("GET", "/dbs/d/colls/c/docs", "", "x-ms-max-item-count", "2")
	if f.want(w, http.StatusOK); w.Header().Get("x-ms-continuation") == "" {
		t.Error("the feed of all ends after its first page")
	}
}
