package cosmos

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

type batchAnswer struct {
	StatusCode   int             `json:"statusCode"`
	ETag         string          `json:"eTag"`
	ResourceBody json.RawMessage `json:"resourceBody"`
}

// batch sends a batch to the partition p and gives the results.
func (f *fixture) batch(status int, operations string, headers ...string) []batchAnswer {
	f.Helper()
	headers = append(headers, "x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True", "x-ms-cosmos-batch-ordered", "True")
	w := f.item("POST", "", operations, headers...)
	if w.Code != status {
		f.Fatalf("status %d, want %d; body %s", w.Code, status, w.Body)
	}
	var results []batchAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &results); err != nil {
		f.Fatal(err)
	}
	return results
}

func statuses(results []batchAnswer) []int {
	var codes []int
	for _, r := range results {
		codes = append(codes, r.StatusCode)
	}
	return codes
}

// Ensure that the operations of a batch see each other, in order.
func TestBatch(t *testing.T) {
	f := newFixture(t, plainContainer)
	results := f.batch(http.StatusOK, `[
		{"operationType":"Create","resourceBody":{"id":"a","pk":"p","n":1}},
		{"operationType":"Patch","id":"a","resourceBody":{"condition":"from c where c.n = 1","operations":[{"op":"incr","path":"/n","value":1}]}},
		{"operationType":"Upsert","resourceBody":{"id":"b","pk":"p"}},
		{"operationType":"Replace","id":"b","resourceBody":{"id":"b","pk":"p","n":9}},
		{"operationType":"Read","id":"a"},
		{"operationType":"Delete","id":"b"}]`)
	if got, want := statuses(results), []int{201, 200, 201, 200, 200, 204}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	if !strings.Contains(string(results[4].ResourceBody), `"n":2`) {
		t.Errorf("the read gives %s", results[4].ResourceBody)
	}
	if got := f.want(f.item("GET", "a", ""), http.StatusOK); got["n"] != 2.0 || got["_etag"] != results[1].ETag {
		t.Errorf("the item is %v, the batch gave the tag %s", got, results[1].ETag)
	}
	f.want(f.item("GET", "b", ""), http.StatusNotFound)
	for _, r := range f.batch(http.StatusOK, `[{"operationType":"Upsert","resourceBody":{"id":"a","pk":"p"}}]`, "Prefer", "return=minimal") {
		if r.ResourceBody != nil || r.ETag == "" {
			t.Errorf("minimal: body %s, tag %s", r.ResourceBody, r.ETag)
		}
	}
}

// Ensure that nothing is left of a batch in which one operation fails, whichever
// way it fails.
func TestBatchIsAtomic(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.want(f.item("POST", "", `{"id":"kept","pk":"p","n":1}`), http.StatusCreated)
	before := f.item("GET", "kept", "").Body.String()
	for failing, want := range map[string]int{
		`{"operationType":"Create","resourceBody":{"id":"kept","pk":"p"}}`:                                                                         409,
		`{"operationType":"Create","resourceBody":{"id":"new","pk":"p"}}`:                                                                          409,
		`{"operationType":"Create","resourceBody":{"id":"x","pk":"q"}}`:                                                                            400,
		`{"operationType":"Create","resourceBody":{"pk":"p"}}`:                                                                                     400,
		`{"operationType":"Replace","id":"gone","resourceBody":{"id":"gone","pk":"p"}}`:                                                            404,
		`{"operationType":"Read","id":"gone"}`:                                                                                                     404,
		`{"operationType":"Delete","id":"kept","ifMatch":"\"stale\""}`:                                                                             412,
		`{"operationType":"Upsert","ifMatch":"\"stale\"","resourceBody":{"id":"new","pk":"p"}}`:                                                    412,
		`{"operationType":"Patch","id":"new","resourceBody":{"operations":[{"op":"remove","path":"/gone"}]}}`:                                      400,
		`{"operationType":"Patch","id":"new","resourceBody":{"condition":"from c where c.n=1","operations":[{"op":"set","path":"/n","value":1}]}}`: 412,
		`{"operationType":"Merge","id":"kept"}`:                                                                                                    400,
	} {
		results := f.batch(http.StatusMultiStatus, `[
			{"operationType":"Create","resourceBody":{"id":"new","pk":"p"}},
			{"operationType":"Patch","id":"kept","resourceBody":{"operations":[{"op":"incr","path":"/n","value":1}]}},
			`+failing+`,
			{"operationType":"Delete","id":"new"}]`)
		if got, want := statuses(results), []int{424, 424, want, 424}; !slices.Equal(got, want) {
			t.Errorf("%s: statuses %v, want %v", failing, got, want)
		}
		if after := f.item("GET", "kept", "").Body.String(); after != before {
			t.Fatalf("%s: the item became %s", failing, after)
		}
		f.want(f.item("GET", "new", ""), http.StatusNotFound)
	}
	stored := 0
	for range f.store.All("cosmos/item/") {
		stored++
	}
	if stored != 1 {
		t.Errorf("the store has %d items, want 1", stored)
	}
}

func TestBatchLimits(t *testing.T) {
	f := newFixture(t, plainContainer)
	headers := []string{"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True"}
	read := strings.Repeat(`{"operationType":"Read","id":"a"},`, maxBatchOperations+1)
	f.refuses(f.item("POST", "", "["+read[:len(read)-1]+"]", headers...), 400, "0", "more operations")
	f.refuses(f.item("POST", "", "[]", headers...), 400, "0", "array of operations")
	f.refuses(f.item("POST", "", "{}", headers...), 400, "0", "array of operations")
	big := `[{"operationType":"Create","resourceBody":{"id":"a","pk":"p","x":"` + strings.Repeat("x", maxBatchBytes) + `"}}]`
	f.refuses(f.item("POST", "", big, headers...), 413, "0", "too large")
	f.refuses(f.do("POST", "/dbs/d/colls/c/docs", "[]", headers...), 400, "1001", "fewer components")
}

// Ensure that batches on the same items don't mix: two counters that every
// batch raises together stay equal.
func TestBatchesAreIsolated(t *testing.T) {
	const writers, each = 8, 15
	f := newFixture(t, plainContainer)
	f.batch(http.StatusOK, `[{"operationType":"Create","resourceBody":{"id":"a","pk":"p","n":0}},{"operationType":"Create","resourceBody":{"id":"b","pk":"p","n":0}}]`)
	raise := func(id string) string {
		return `{"operationType":"Patch","id":"` + id + `","resourceBody":{"operations":[{"op":"incr","path":"/n","value":1}]}}`
	}
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				f.item("POST", "", "["+raise("a")+","+raise("b")+"]", "x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True")
				body := f.query("SELECT VALUE c.n FROM c", `["p"]`).Body.Bytes()
				var page struct{ Documents []int }
				if err := json.Unmarshal(body, &page); err != nil || len(page.Documents) != 2 || page.Documents[0] != page.Documents[1] {
					t.Errorf("a query sees %s: %v", body, err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.want(f.item("GET", "b", ""), http.StatusOK)["n"]; got != float64(writers*each) {
		t.Errorf("n is %v, want %d", got, writers*each)
	}
}
