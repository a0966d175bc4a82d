package cosmos

import (
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// TestTheDatabaseIsAway: every call on items is answered 503 and changes nothing.
func TestTheDatabaseIsAway(t *testing.T) {
	f := newFaulty(t)
	f.create("a")
	for name, call := range f.operations() {
		f.hit(fault.CosmosAway)
		if w := call(); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if !f.exists("a") || f.exists("new") {
		t.Error("something changed")
	}
}

// TestAPartOfTheDatabaseIsAway: some partition keys for the whole burst, some of
// them only for writes, the others never.
func TestAPartOfTheDatabaseIsAway(t *testing.T) {
	f := newFaulty(t)
	burst := fault.Burst{Point: fault.CosmosPartition, From: time.Now().Add(-time.Second), Seconds: 600, Rate: 0.5}
	if err := f.in.Set(fault.Plan{Seed: 1, Bursts: []fault.Burst{burst}}); err != nil {
		t.Fatal(err)
	}
	away, readable := 0, 0
	for i := range 40 {
		key := string(rune('A' + i))
		read := func() int {
			return f.do("GET", "/dbs/d/colls/c/docs/x", "", "x-ms-documentdb-partitionkey", `["`+key+`"]`).Code
		}
		write := func() int {
			return f.do("POST", "/dbs/d/colls/c/docs", `{"id":"y","pk":"`+key+`"}`, "x-ms-documentdb-partitionkey", `["`+key+`"]`, "x-ms-documentdb-is-upsert", "true").Code
		}
		first, written := read(), write()
		switch {
		case first == http.StatusServiceUnavailable:
			away++
		case written == http.StatusServiceUnavailable:
			readable++
		}
		if first == http.StatusServiceUnavailable && written != first {
			t.Errorf("key %s: read is %d, and written %d", key, first, written)
		}
		for range 3 {
			if again := read(); again != first {
				t.Errorf("key %s: %d, then %d", key, first, again)
			}
			if again := write(); (again == http.StatusServiceUnavailable) != (written == http.StatusServiceUnavailable) {
				t.Errorf("key %s: written %d, then %d", key, written, again)
			}
		}
	}
	if away == 0 || readable == 0 || away+readable == 40 {
		t.Errorf("%d of 40 keys are away, and %d for writes", away, readable)
	}
}
