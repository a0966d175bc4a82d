package cosmos

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// Ensure that a server over the same store shows the same account, and goes on
// where the other ended.
func TestRestart(t *testing.T) {
	f := newFixture(t, expiringContainer)
	f.want(f.do("POST", "/dbs", `{"id":"other"}`, "x-ms-offer-throughput", "500"), http.StatusCreated)
	f.fill(8)
	f.want(f.item("DELETE", "3", ""), http.StatusNoContent)
	f.want(f.item("PUT", "4", `{"id":"renamed","pk":"p","n":4,"exact":1.10,"ttl":5}`), http.StatusOK)
	f.want(f.do("DELETE", "/dbs/other", ""), http.StatusNoContent)
	f.want(f.do("POST", "/dbs", `{"id":"last"}`), http.StatusCreated)
	show := func(f *fixture) []string {
		t.Helper()
		items, _ := f.results("SELECT * FROM c", `["p"]`, 100)
		for _, path := range []string{"/dbs", "/dbs/d/colls", "/dbs/d/colls/c/pkranges", "/offers"} {
			w := f.do("GET", path, "")
			f.want(w, http.StatusOK)
			items = append(items, f.do("GET", path, "").Body.String())
		}
		return items
	}
	before := show(f)
	_, token := f.page("SELECT VALUE c.n FROM c", `["p"]`, "x-ms-max-item-count", "2")

	// Other settings for new containers leave those that exist as they are.
	again := &fixture{t, newServer(t, Config{Now: f.clock.Now, RangesPerContainer: 5}, f.store), f.clock}
	if after := show(again); !slices.Equal(before, after) {
		t.Errorf("before: %v\nafter:  %v", before, after)
	}
	rest, _ := again.page("SELECT VALUE c.n FROM c", `["p"]`, "x-ms-continuation", token)
	if want := []string{"2", "4", "5", "6", "7"}; !slices.Equal(rest, want) {
		t.Errorf("the continuation goes on with %v, want %v", rest, want)
	}
	again.want(again.item("POST", "", `{"id":"new","pk":"p","n":8}`), http.StatusCreated)
	again.clock.move(5 * time.Second)
	again.want(again.item("GET", "renamed", ""), http.StatusNotFound)
	if all, _ := again.results("SELECT VALUE c.n FROM c", `["p"]`, 3); !slices.Equal(all, []string{"0", "1", "2", "5", "6", "7", "8"}) {
		t.Errorf("after a write there are %v", all)
	}
	again.want(again.do("POST", "/dbs/last/colls", `{"id":"e","partitionKey":{"paths":["/pk"]}}`), http.StatusCreated)
}

// Ensure that the deletion of a container leaves nothing of it in the store.
func TestDeleteContainerCleansStore(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.fill(5)
	f.want(f.do("DELETE", "/dbs/d/colls/c", ""), http.StatusNoContent)
	f.want(f.do("GET", "/dbs/d/colls/c", ""), http.StatusNotFound)
	f.refuses(f.item("POST", "", `{"id":"a","pk":"p"}`), 404, "1003", "Owner resource")
	for _, prefix := range []string{"cosmos/item/", containerPrefix, offerPrefix} {
		for key := range f.store.All(prefix) {
			t.Errorf("%s is left", key)
		}
	}
	f.want(f.do("POST", "/dbs/d/colls", plainContainer), http.StatusCreated)
	if n := f.want(f.item("GET", "", ""), http.StatusOK)["_count"]; n != 0.0 {
		t.Errorf("the new container has %v items", n)
	}
	f.fill(1)
	f.want(f.do("DELETE", "/dbs/d", ""), http.StatusNoContent)
	for key := range f.store.All("cosmos/") {
		if key != counterKey {
			t.Errorf("%s is left", key)
		}
	}
}

// A heldStore takes batches, and tells of them when it is let go.
type heldStore struct {
	*store.Memory
	taken chan struct{} // gets a value for each batch
	let   chan error    // what to tell of it
}

func (h *heldStore) Commit(b store.Batch, done func(error)) {
	h.taken <- struct{}{}
	go func() {
		if err := <-h.let; err != nil {
			done(err)
			return
		}
		h.Memory.Commit(b, done)
	}()
}

// Ensure that nobody is told of a write before the store has it: neither the
// writer nor a reader, nor one who is refused because of it.
func TestAnswersWaitForStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, plainContainer)
		f.want(f.item("POST", "", `{"id":"a","pk":"p","n":1}`), http.StatusCreated)
		held := &heldStore{f.store.(*store.Memory), make(chan struct{}, 1), make(chan error)}
		f.Server.store = held
		answers := make(chan *httptest.ResponseRecorder, 4)
		go func() { answers <- f.item("PUT", "a", `{"id":"a","pk":"p","n":2}`) }()
		<-held.taken
		go func() { answers <- f.item("GET", "a", "") }()
		go func() { answers <- f.item("PUT", "a", `{"id":"a","pk":"p","n":3}`, "If-Match", `"stale"`) }()
		go func() { answers <- f.query("SELECT * FROM c", `["p"]`) }()
		synctest.Wait() // until all four wait for the store, or have answered
		if n := len(answers); n > 0 {
			t.Fatalf("%d answered before the store had the write", n)
		}
		held.let <- nil
		codes := map[int]int{}
		for range 4 {
			codes[(<-answers).Code]++
		}
		if codes[http.StatusOK] != 3 || codes[http.StatusPreconditionFailed] != 1 {
			t.Errorf("answers %v, want three of 200 and one of 412", codes)
		}
	})
}

// Ensure that a store that failed is the end: no answer tells of what it may
// not have.
func TestStoreFails(t *testing.T) {
	f := newFixture(t, plainContainer)
	held := &heldStore{f.store.(*store.Memory), make(chan struct{}, 1), make(chan error, 1)}
	f.Server.store = held
	held.let <- errors.New("disk full")
	f.refuses(f.item("POST", "", `{"id":"a","pk":"p"}`), 503, "0", "store of this emulator failed")
	f.refuses(f.item("GET", "a", ""), 503, "0", "store of this emulator failed")
	f.refuses(f.do("GET", "/dbs", ""), 503, "0", "store of this emulator failed")
	f.Server.store = held.Memory
}
