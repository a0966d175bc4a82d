package cosmosdb

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestObserve has a read throttled once: both of its tries are told of, with what
// they cost, in the context of the caller.
func TestObserve(t *testing.T) {
	type key struct{}
	var server *httptest.Server
	reads := 0
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			region := `[{"name":"here","databaseAccountEndpoint":"` + server.URL + `/"}]`
			w.Write([]byte(`{"id":"test","writableLocations":` + region + `,"readableLocations":` + region + `}`))
			return
		}
		reads++
		if reads == 1 {
			w.Header().Set("x-ms-request-charge", "0.38")
			w.Header().Set("x-ms-retry-after-ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("x-ms-request-charge", "1.24")
		w.Header().Set("ETag", `"1"`)
		w.Write([]byte(`{"id":"a"}`))
	}))
	t.Cleanup(server.Close)
	var mu sync.Mutex
	var tries []Try
	db, err := Open(Connection{ConnectionString: "AccountEndpoint=" + server.URL + "/;AccountKey=c2VjcmV0"}, Options{
		Database: "test", Timeout: 5 * time.Second, Observe: func(ctx context.Context, try Try) {
			mu.Lock()
			defer mu.Unlock()
			if try.Container != "" && ctx.Value(key{}) != "caller" {
				t.Error("not the caller's context")
			}
			tries = append(tries, try)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	c := container(t, db)
	if _, _, err := c.Read(context.WithValue(t.Context(), key{}, "caller"), "a", "a"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	tries = slices.DeleteFunc(tries, func(try Try) bool { return try.Container == "" }) // the look at the account
	if len(tries) != 2 {
		t.Fatalf("got %+v", tries)
	}
	first, second := tries[0], tries[1]
	if !first.Throttled() || !first.Failed() || first.Charge != 0.38 || first.Container != c.name || first.Method != "GET" || first.Began.IsZero() {
		t.Errorf("got %+v", first)
	}
	if second.Throttled() || second.Failed() || second.Charge != 1.24 || second.Status != 200 {
		t.Errorf("got %+v", second)
	}
}

func TestFailedTries(t *testing.T) {
	for status, want := range map[int]bool{0: true, 200: false, 201: false, 404: false, 409: false, 412: false, 408: true, 429: true, 449: true, 500: true, 503: true} {
		if got := (Try{Status: status}).Failed(); got != want {
			t.Errorf("status %d: %v", status, got)
		}
	}
}

func TestContainerOf(t *testing.T) {
	for path, want := range map[string]string{
		"/dbs/d/colls/transactions/docs/t-1": "transactions", "/dbs/d/colls/drones/docs": "drones", "/dbs/d/colls/x": "x", "/dbs/d": "", "/": "",
	} {
		if got := containerOf(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
