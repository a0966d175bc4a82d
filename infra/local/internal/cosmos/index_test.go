package cosmos

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// How containers are keyed and indexed: one as that of the drones, one as that of
// the transactions, and their like without an index.
const (
	indexedByZone = `{"id":"c","partitionKey":{"paths":["/pk"],"version":2},"indexingPolicy":{"includedPaths":[{"path":"/n/?"},{"path":"/sub/s/?"}],"excludedPaths":[{"path":"/*"}]}}`
	indexedByID   = `{"id":"c","partitionKey":{"paths":["/id"],"version":2},"indexingPolicy":{"includedPaths":[{"path":"/n/?"},{"path":"/sub/s/?"}],"excludedPaths":[{"path":"/*"}]}}`
)

// Ensure that a query gives the same with and without an index, whatever was
// written before, and after a restart; in pages of any size.
func TestIndexChangesNoResult(t *testing.T) {
	queries := []string{
		`c.n = 3`, `3 = c.n`, `c.n < 3`, `c.n <= 3`, `c.n > 3`, `c.n >= 3`, `3 > c.n`, `c.n <> 3`, `c.n = null`, `c.n = true`, `c.n < true`,
		`c.n = "3"`, `c.n < "5"`, `c.n >= ""`, `c.n > 1 AND c.n < 5`, `c.n < 2 OR c.n > 5`, `c.n < 5 OR c.n > 2`, `c.n <= 4 OR c.sub.s >= "x2"`,
		`c.n < 5 OR c.other = 1`, `c.other = 1 AND c.sub.s = "x1"`, `NOT (c.n = 3)`, `c.n IN (1, 2)`, `c.n = [1]`, `c.n + 1 > 3`, `c["n"] > 5`, `c.sub["s"] < "x2"`,
	}
	for name, c := range map[string]struct{ with, without, partition string }{
		"partitions":      {indexedByZone, plainContainer, `["p"]`},
		"each its own":    {indexedByID, strings.Replace(plainContainer, "/pk", "/id", 1), ""},
		"of other ranges": {indexedByZone, plainContainer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewPCG(seed, 0))
			with, without := newFixture(t, c.with), newFixture(t, c.without)
			values := []string{"0", "1", "2", "3", "4.5", "6", "null", "true", "false", `"3"`, `"x"`, "[1]", "{}"}
			for round := range 40 {
				for range 8 {
					id, pk := fmt.Sprint(rnd.IntN(30)), []string{"p", "q"}[rnd.IntN(2)]
					doc := fmt.Sprintf(`{"id":%q,"pk":%q,"n":%s,"sub":{"s":"x%d"},"other":%d}`, id, pk, values[rnd.IntN(len(values))], rnd.IntN(4), rnd.IntN(2))
					if rnd.IntN(4) == 0 {
						doc = fmt.Sprintf(`{"id":%q,"pk":%q}`, id, pk)
					}
					key := fmt.Sprintf("[%q]", pk)
					if c.with == indexedByID {
						key = fmt.Sprintf("[%q]", id)
					}
					remove := rnd.IntN(5) == 0
					for _, f := range []*fixture{with, without} {
						if remove {
							f.item("DELETE", id, "", "x-ms-documentdb-partitionkey", key)
							continue
						}
						if w := f.item("POST", "", doc, "x-ms-documentdb-partitionkey", key, "x-ms-documentdb-is-upsert", "true"); w.Code >= 300 {
							t.Fatalf("%s: %d %s", doc, w.Code, w.Body)
						}
					}
				}
				if round == 20 {
					with = &fixture{t, newServer(t, Config{Now: with.clock.Now}, with.store), with.clock}
				}
				where := queries[rnd.IntN(len(queries))]
				query := "SELECT VALUE [c.id, c.pk, c.n, c.sub, c.other] FROM c WHERE " + where
				got, _ := with.results(query, c.partition, 1+rnd.IntN(12))
				want, _ := without.results(query, c.partition, 100)
				slices.Sort(got) // the order is that of the index
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("%s gives %v, want %v", query, got, want)
				}
				if whole, _ := with.results("SELECT * FROM c WHERE "+where, c.partition, 1+rnd.IntN(12)); len(whole) != len(want) {
					t.Fatalf("%s: %d whole documents of %d", where, len(whole), len(want))
				}
			}
		})
	}
}

// Ensure that an index spares reading: a query of a partition or of all looks at
// what it gives.
func TestIndexSparesReading(t *testing.T) {
	for name, c := range map[string]struct{ container, partition, query string }{
		"a partition": {indexedByZone, `["p"]`, `SELECT * FROM c WHERE c.n <= 3 OR c.sub.s >= "x9"`},
		"all":         {indexedByID, "", `SELECT c.id FROM c WHERE c.n < 4`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, c.container)
			for i := range 100 {
				f.want(f.item("POST", "", fmt.Sprintf(`{"id":"%d","pk":"p","n":%d,"sub":{"s":"x"}}`, i, i),
					"x-ms-documentdb-partitionkey", map[bool]string{true: `["p"]`, false: fmt.Sprintf(`["%d"]`, i)}[c.partition != ""]), http.StatusCreated)
			}
			results, loaded := 0, 0
			headers := []string{"x-ms-max-item-count", "2"}
			for token := "."; token != ""; {
				w := f.query(c.query, c.partition, headers...)
				f.want(w, http.StatusOK)
				var n, size, out int
				if _, err := fmt.Sscanf(w.Header().Get("x-ms-documentdb-query-metrics"), "retrievedDocumentCount=%d;retrievedDocumentSize=%d;outputDocumentCount=%d", &n, &size, &out); err != nil {
					t.Fatal(err)
				}
				results, loaded = results+out, loaded+n
				token = w.Header().Get("x-ms-continuation")
				headers = []string{"x-ms-max-item-count", "2", "x-ms-continuation", token}
			}
			if results != 4 || loaded > 2*results {
				t.Errorf("%d documents were read for %d results of 4", loaded, results)
			}
		})
	}
}

// Ensure that no page leaves out what has the same value as the last of the page
// before it, and was stored next.
func TestIndexPagesOfOneValue(t *testing.T) {
	f := newFixture(t, indexedByZone)
	var want []string
	for i := range 9 {
		f.want(f.item("POST", "", fmt.Sprintf(`{"id":"%d","pk":"p","n":1}`, i), "x-ms-documentdb-partitionkey", `["p"]`), http.StatusCreated)
		want = append(want, fmt.Sprintf(`"%d"`, i))
	}
	for page := 1; page <= 3; page++ {
		got, _ := f.results("SELECT VALUE c.id FROM c WHERE c.n = 1", `["p"]`, page)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", page, got)
		}
	}
}

// Ensure that a query finds the item that is a partition of its own, once, and
// nothing in a partition that can have none.
func TestQueryOfSoleItem(t *testing.T) {
	f := newFixture(t, indexedByID)
	for i := range 3 {
		f.want(f.item("POST", "", fmt.Sprintf(`{"id":"%d","n":1}`, i), "x-ms-documentdb-partitionkey", fmt.Sprintf(`["%d"]`, i)), http.StatusCreated)
	}
	for partition, want := range map[string][]string{`["1"]`: {`"1"`}, `["7"]`: nil, `[null]`: nil, `[1]`: nil} {
		if got, _ := f.results("SELECT VALUE c.id FROM c", partition, 1); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", partition, got, want)
		}
	}
}
