package cosmos

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// Ensure that of many writers that hold the same tag exactly one wins, with each
// operation that takes a condition.
func TestOneWriterWins(t *testing.T) {
	const writers, rounds = 64, 12
	f := newFixture(t, plainContainer)
	operations := []func(id, etag string, n int) int{
		func(id, etag string, n int) int {
			return f.item("PUT", id, fmt.Sprintf(`{"id":%q,"pk":"p","n":%d}`, id, n), "If-Match", etag).Code
		},
		func(id, etag string, n int) int {
			return f.item("POST", "", fmt.Sprintf(`{"id":%q,"pk":"p","n":%d}`, id, n), "If-Match", etag, "x-ms-documentdb-is-upsert", "True").Code
		},
		func(id, etag string, n int) int {
			return f.item("PATCH", id, fmt.Sprintf(`{"operations":[{"op":"set","path":"/n","value":%d}]}`, n), "If-Match", etag).Code
		},
	}
	f.want(f.item("POST", "", `{"id":"a","pk":"p"}`), http.StatusCreated)
	for round := range rounds {
		etag := f.want(f.item("GET", "a", ""), http.StatusOK)["_etag"].(string)
		codes := make([]int, writers)
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() { codes[n] = operations[(round+n)%len(operations)]("a", etag, n) })
		}
		wg.Wait()
		winner := -1
		for n, code := range codes {
			switch {
			case code == http.StatusOK && winner < 0:
				winner = n
			case code != http.StatusPreconditionFailed:
				t.Fatalf("round %d: writer %d got %d after the win of %d", round, n, code, winner)
			}
		}
		if got := f.want(f.item("GET", "a", ""), http.StatusOK)["n"]; winner < 0 || got != float64(winner) {
			t.Fatalf("round %d: n is %v, the winner is %d", round, got, winner)
		}
	}
}

// Ensure that of many creators of one id exactly one wins, and of many deleters.
func TestOneCreatorWins(t *testing.T) {
	f := newFixture(t, plainContainer)
	for round := range 10 {
		count := func(want int, do func() int) {
			t.Helper()
			var mu sync.Mutex
			var wg sync.WaitGroup
			wins := 0
			for range 32 {
				wg.Go(func() {
					if code := do(); code == want {
						mu.Lock()
						wins++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if wins != 1 {
				t.Fatalf("round %d: %d of 32 got %d", round, wins, want)
			}
		}
		count(http.StatusCreated, func() int { return f.item("POST", "", `{"id":"a","pk":"p"}`).Code })
		count(http.StatusNoContent, func() int { return f.item("DELETE", "a", "").Code })
	}
}

// Ensure that no increment is lost, and that readers and queries run beside
// writers of the same partition.
func TestIncrementsAreKept(t *testing.T) {
	const writers, each = 16, 20
	f := newFixture(t, plainContainer)
	f.want(f.item("POST", "", `{"id":"a","pk":"p","n":0}`), http.StatusCreated)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if code := f.item("PATCH", "a", `{"operations":[{"op":"incr","path":"/n","value":1}]}`).Code; code != http.StatusOK {
					t.Errorf("patch: %d", code)
				}
				if code := f.item("POST", "", fmt.Sprintf(`{"id":"%d-%d","pk":"p"}`, w, i)).Code; code != http.StatusCreated {
					t.Errorf("create: %d", code)
				}
				if code := f.query("SELECT * FROM c WHERE c.n > 0", "").Code; code != http.StatusOK {
					t.Errorf("query: %d", code)
				}
			}
		})
	}
	wg.Wait()
	if got := f.want(f.item("GET", "a", ""), http.StatusOK)["n"]; got != float64(writers*each) {
		t.Errorf("n is %v, want %d", got, writers*each)
	}
}
