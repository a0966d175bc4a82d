package cosmos

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"
)

const expiringContainer = `{"id":"c","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":60}`

// Ensure that an expired item is gone for every operation at once, whether or not
// the sweeper has been there.
func TestTimeToLive(t *testing.T) {
	f := newFixture(t, expiringContainer)
	f.want(f.item("POST", "", `{"id":"default","pk":"p"}`), http.StatusCreated)
	f.want(f.item("POST", "", `{"id":"short","pk":"p","ttl":10}`), http.StatusCreated)
	f.want(f.item("POST", "", `{"id":"never","pk":"p","ttl":-1}`), http.StatusCreated)
	visible := func(want ...string) {
		t.Helper()
		var got []string
		for _, d := range f.want(f.query("SELECT * FROM c", `["p"]`), http.StatusOK)["Documents"].([]any) {
			got = append(got, d.(map[string]any)["id"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("a query sees %v, want %v", got, want)
		}
		for _, id := range []string{"default", "short", "never"} {
			status := http.StatusNotFound
			if slices.Contains(want, id) {
				status = http.StatusOK
			}
			if code := f.item("GET", id, "").Code; code != status {
				t.Errorf("reading %s: %d, want %d", id, code, status)
			}
		}
	}
	f.clock.move(9 * time.Second)
	visible("default", "short", "never")
	f.clock.move(time.Second)
	visible("default", "never")
	f.want(f.item("DELETE", "short", ""), http.StatusNotFound)
	f.want(f.item("PUT", "short", `{"id":"short","pk":"p"}`), http.StatusNotFound)
	f.want(f.item("POST", "", `{"id":"short","pk":"p","ttl":10}`), http.StatusCreated)
	f.clock.move(49 * time.Second)
	visible("default", "never")
	f.clock.move(time.Second)
	visible("never")

	f.sweep(context.Background())
	left := 0
	for range f.store.All("cosmos/item/") {
		left++
	}
	if left != 1 {
		t.Errorf("after the sweep the store has %d items, want 1", left)
	}
	for _, r := range f.databases["d"].containers["c"].ranges {
		if len(r.items) != r.order.Len() || r.order.Len() > 1 || len(r.partitions) > 1 {
			t.Errorf("range %d: %d items, %d in order, %d partitions", r.index, len(r.items), r.order.Len(), len(r.partitions))
		}
	}
	f.clock.move(1000 * time.Hour)
	visible("never")
}

// Ensure that the container's setting decides, also one that comes later.
func TestTimeToLiveOfContainer(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.want(f.item("POST", "", `{"id":"a","pk":"p","ttl":10}`), http.StatusCreated)
	f.want(f.item("POST", "", `{"id":"b","pk":"p"}`), http.StatusCreated)
	f.clock.move(time.Hour)
	f.sweep(context.Background())
	f.want(f.item("GET", "a", ""), http.StatusOK) // off: nothing expires

	replace := func(ttl string) {
		t.Helper()
		f.want(f.do("PUT", "/dbs/d/colls/c", `{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":`+ttl+`}`), http.StatusOK)
	}
	replace("-1") // on, and only for items that have their own
	f.want(f.item("GET", "a", ""), http.StatusNotFound)
	f.want(f.item("GET", "b", ""), http.StatusOK)
	replace("3600")
	f.want(f.item("GET", "b", ""), http.StatusNotFound)
	replace("3601")
	f.want(f.item("GET", "b", ""), http.StatusOK)
}
