package cosmos

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A faulty fixture has the points hit, always, that hit names.
type faulty struct {
	*fixture
	in *fault.Injector
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	c, in := newClock(), fault.New()
	s := newServer(t, Config{Now: c.Now, Faults: in, Spared: []string{"spared"}}, store.NewMemory())
	f := &faulty{&fixture{T: t, Server: s, clock: c}, in}
	for _, d := range []string{"d", "spared"} {
		f.want(f.do("POST", "/dbs", `{"id":"`+d+`"}`), http.StatusCreated)
		f.want(f.do("POST", "/dbs/"+d+"/colls", plainContainer), http.StatusCreated)
	}
	return f
}

func (f *faulty) hit(points ...fault.Point) {
	f.Helper()
	p := fault.Plan{Rates: map[fault.Point]float64{}, SlowSeconds: 0.002}
	for _, point := range points {
		p.Rates[point] = 1
	}
	if err := f.in.Set(p); err != nil {
		f.Fatal(err)
	}
}

// create creates the item without faults.
func (f *faulty) create(id string) (etag string) {
	f.Helper()
	f.hit()
	f.want(f.item("POST", "", `{"id":"`+id+`","pk":"p"}`), http.StatusCreated)
	return f.etag(id)
}

func (f *faulty) etag(id string) string {
	f.Helper()
	f.hit()
	w := f.item("GET", id, "")
	f.want(w, http.StatusOK)
	return w.Header().Get("etag")
}

// exists looks without faults.
func (f *faulty) exists(id string) bool {
	f.Helper()
	f.hit()
	return f.item("GET", id, "").Code == http.StatusOK
}

// operations are all kinds of calls on items.
func (f *faulty) operations() map[string]func() *httptest.ResponseRecorder {
	const doc = `{"id":"a","pk":"p"}`
	return map[string]func() *httptest.ResponseRecorder{
		"create":  func() *httptest.ResponseRecorder { return f.item("POST", "", `{"id":"new","pk":"p"}`) },
		"upsert":  func() *httptest.ResponseRecorder { return f.item("POST", "", doc, "x-ms-documentdb-is-upsert", "true") },
		"replace": func() *httptest.ResponseRecorder { return f.item("PUT", "a", doc) },
		"patch": func() *httptest.ResponseRecorder {
			return f.item("PATCH", "a", `{"operations":[{"op":"set","path":"/n","value":1}]}`)
		},
		"read":   func() *httptest.ResponseRecorder { return f.item("GET", "a", "") },
		"delete": func() *httptest.ResponseRecorder { return f.item("DELETE", "a", "") },
		"query":  func() *httptest.ResponseRecorder { return f.query("SELECT * FROM c", `["p"]`) },
		"list":   func() *httptest.ResponseRecorder { return f.do("GET", "/dbs/d/colls/c/docs", "") },
		"batch": func() *httptest.ResponseRecorder {
			return f.item("POST", "", `[{"operationType":"Create","resourceBody":{"id":"new","pk":"p"}}]`,
				"x-ms-cosmos-is-batch-request", "true", "x-ms-cosmos-batch-atomic", "True")
		},
	}
}

func TestThrottledAndUnavailable(t *testing.T) {
	f := newFaulty(t)
	before := f.create("a")
	for _, c := range []struct {
		point                            fault.Point
		status                           int
		subStatus, message, retryAfterMS string
	}{
		{fault.CosmosThrottle, http.StatusTooManyRequests, "3200", "Request rate is large", "50"},
		{fault.CosmosUnavailable, http.StatusServiceUnavailable, "0", "Service is currently unavailable", ""},
	} {
		for name, operation := range f.operations() {
			f.hit(c.point)
			w := operation()
			if got := w.Header().Get("x-ms-retry-after-ms"); got != c.retryAfterMS {
				t.Errorf("%s: retry after %q", name, got)
			}
			f.refuses(w, c.status, c.subStatus, c.message)
		}
		if f.etag("a") != before || f.exists("new") {
			t.Errorf("%s: something was done", c.point)
		}
	}
}

// TestTimeout: the first is after the write, the second before it, and so on.
func TestTimeout(t *testing.T) {
	f := newFaulty(t)
	for _, id := range []string{"done", "not", "done too", "not either"} {
		f.hit(fault.CosmosTimeout)
		f.refuses(f.item("POST", "", `{"id":"`+id+`","pk":"p"}`), http.StatusRequestTimeout, "0", "Request timed out")
		if f.exists(id) != strings.HasPrefix(id, "done") {
			t.Errorf("%s: exists %v", id, f.exists(id))
		}
	}
	f.hit(fault.CosmosTimeout) // one that is refused and times out: only the latter is told
	f.refuses(f.item("POST", "", `{"id":"done","pk":"p"}`), http.StatusRequestTimeout, "0", "Request timed out")
}

// aborts tells whether an operation has its connection cut.
func aborts(operation func() *httptest.ResponseRecorder) (cut bool) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case http.ErrAbortHandler:
			cut = true
		default:
			panic(r)
		}
	}()
	operation()
	return false
}

func TestAnswerLost(t *testing.T) {
	f := newFaulty(t)
	writes := map[string]bool{"create": true, "upsert": true, "replace": true, "patch": true, "delete": true, "batch": true}
	for name, operation := range f.operations() {
		before := f.create("a")
		f.hit(fault.CosmosAnswerLost)
		if cut := aborts(operation); cut != writes[name] {
			t.Errorf("%s: cut %v", name, cut)
		}
		done := f.exists("new") || !f.exists("a") || f.etag("a") != before
		if done != writes[name] {
			t.Errorf("%s: done %v", name, done)
		}
		for _, id := range []string{"a", "new"} {
			f.item("DELETE", id, "")
		}
	}
	f.hit(fault.CosmosAnswerLost) // a refusal is no write
	f.want(f.item("DELETE", "missing", ""), http.StatusNotFound)
}

// TestRace: conditional writes come too late, with nothing changed but the tag
// and the time; others don't.
func TestRace(t *testing.T) {
	f := newFaulty(t)
	f.create("a")
	f.want(f.item("PUT", "a", `{"id":"a","pk":"p","n":1,"ttl":100}`), http.StatusOK)
	for name, late := range map[string]func(etag string) *httptest.ResponseRecorder{
		"replace": func(etag string) *httptest.ResponseRecorder {
			return f.item("PUT", "a", `{"id":"a","pk":"p","n":2}`, "If-Match", etag)
		},
		"patch": func(etag string) *httptest.ResponseRecorder {
			return f.item("PATCH", "a", `{"operations":[{"op":"set","path":"/n","value":2}]}`, "If-Match", etag)
		},
		"delete": func(etag string) *httptest.ResponseRecorder { return f.item("DELETE", "a", "", "If-Match", etag) },
	} {
		before := f.etag("a")
		f.clock.move(1e9)
		f.hit(fault.CosmosRace)
		f.refuses(late(before), http.StatusPreconditionFailed, "0", "precondition")
		f.hit()
		w := f.item("GET", "a", "")
		now := f.want(w, http.StatusOK)
		if now["n"] != 1.0 || now["ttl"] != 100.0 || now["_etag"] == before || now["_ts"] != float64(f.clock.Now().Unix()) {
			t.Errorf("%s: the item is %v", name, now)
		}
		f.hit(fault.CosmosRace)
		f.refuses(late(before), http.StatusPreconditionFailed, "0", "precondition") // still another's
		partition, _ := encodePartitionKey(sql.StringValue("p"))
		if i, _, _, err := f.read(f.databases["d"].containers["c"], itemKey{partition, "a"}); err != nil || i.ttl != 100 {
			t.Errorf("%s: the time to live is not kept: %v", name, err)
		}
	}
	operations := `[{"operationType":"Create","resourceBody":{"id":"new","pk":"p"}},{"operationType":"Delete","id":"a","ifMatch":` + strconv.Quote(f.etag("a")) + `}]`
	f.hit(fault.CosmosRace)
	if got := statuses(f.batch(http.StatusMultiStatus, operations)); !slices.Equal(got, []int{424, 412}) || f.exists("new") {
		t.Errorf("batch: %v", got)
	}
	f.hit(fault.CosmosRace)
	asked := f.in.Counts()[fault.CosmosRace].Asked
	f.want(f.item("PUT", "a", `{"id":"a","pk":"p"}`), http.StatusOK)
	f.want(f.item("PUT", "a", `{"id":"a","pk":"p"}`, "If-Match", "*"), http.StatusOK)
	if now := f.in.Counts()[fault.CosmosRace].Asked; now != asked {
		t.Errorf("writes without a tag are raced with: %d", now-asked)
	}
	f.want(f.item("DELETE", "missing", "", "If-Match", `"x"`), http.StatusNotFound)
	f.want(f.item("DELETE", "a", "", "If-Match", f.etag("a")), http.StatusNoContent) // etag looks without faults
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t)
		f.create("a")
		begun := time.Now()
		f.want(f.item("GET", "a", ""), http.StatusOK)
		if d := time.Since(begun); d != 0 {
			t.Errorf("without faults: %v", d)
		}
		f.hit(fault.CosmosSlow)
		f.want(f.item("GET", "a", ""), http.StatusOK)
		if d := time.Since(begun); d < time.Millisecond || d > 2*time.Millisecond {
			t.Errorf("it took %v", d)
		}
	})
}

// TestSpared: what is not for items, and a database that is named.
func TestSpared(t *testing.T) {
	f := newFaulty(t)
	var all []fault.Point
	for _, info := range fault.Points {
		if !info.Lasts {
			all = append(all, info.Point)
		}
	}
	f.hit(all...)
	for _, path := range []string{"/", "/dbs", "/dbs/d", "/dbs/d/colls", "/dbs/d/colls/c", "/dbs/d/colls/c/pkranges", "/offers"} {
		f.want(f.do("GET", path, ""), http.StatusOK)
	}
	partition := []string{"x-ms-documentdb-partitionkey", `["p"]`}
	w := f.do("POST", "/dbs/spared/colls/c/docs", `{"id":"a","pk":"p"}`, partition...)
	f.want(w, http.StatusCreated)
	f.want(f.do("PUT", "/dbs/spared/colls/c/docs/a", `{"id":"a","pk":"p"}`, append(partition, "If-Match", w.Header().Get("etag"))...), http.StatusOK)
	if counts := f.in.Counts(); len(counts) != 0 {
		t.Errorf("asked: %v", counts)
	}
}

// Ensure that of two instances one reads the map as ever, through all their restarts, and the
// other one never.
func TestEverySecondReader(t *testing.T) {
	var r readers
	for i, want := range []bool{false, true, true, false, false, true} {
		agent := []string{"front-a.1 azsdk-go", "front-b.2 azsdk-go", "front-b.3 azsdk-go", "front-a.4 azsdk-go", "front-c.5", "front-b.6"}[i]
		if got := r.second(agent, true); got != want {
			t.Errorf("%s: %v", agent, got)
		}
	}
	var alike readers // a machine's name, and no instances
	if alike.second("machine.1 x", false) || !alike.second("machine.2 x", false) || alike.second("machine.1 x", false) {
		t.Error("two processes don't differ")
	}
}
