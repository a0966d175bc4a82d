package cosmosdb

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// account answers every request for a document as answer says, and describes
// itself to the client. It counts the requests for documents.
func fakeAccount(t *testing.T, o Options, answer http.HandlerFunc) (*Database, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		region := `[{"name":"here","databaseAccountEndpoint":"` + server.URL + `/"}]`
		_, err := w.Write([]byte(`{"id":"test","writableLocations":` + region + `,"readableLocations":` + region + `}`))
		if err != nil {
			t.Errorf("describe account: %v", err)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	})
	o.Database = "test"
	db, err := Open(Connection{ConnectionString: "AccountEndpoint=" + server.URL + "/;AccountKey=c2VjcmV0"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, &requests
}

func container(t *testing.T, db *Database) *Container {
	t.Helper()
	c := db.Container("things")
	return c
}

func TestKindOfEveryStatus(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		status  int
		headers map[string]string
		kind    failure.Kind
		after   time.Duration
		advice  string
	}{
		{"bad request", 400, nil, failure.Permanent, 0, "fault of the app"},
		{"unauthorized", 401, nil, failure.Permanent, 0, "check the connection settings"},
		{"forbidden", 403, nil, failure.Permanent, 0, "Built-in Data Contributor"},
		{"region fails over", 403, map[string]string{"x-ms-substatus": "3"}, failure.Transient, 0, ""},
		{"not found", 404, nil, failure.NotFound, 0, ""},
		{"no container", 404, map[string]string{"x-ms-substatus": "1003"}, failure.Permanent, 0, "does not exist"},
		{"behind its session", 404, map[string]string{"x-ms-substatus": "1002"}, failure.Transient, 0, ""},
		{"time-out", 408, nil, failure.Transient, 0, ""},
		{"conflict", 409, nil, failure.Conflict, 0, ""},
		{"precondition failed", 412, nil, failure.Conflict, 0, ""},
		{"too large", 413, nil, failure.Invalid, 0, ""},
		{"throttled", 429, map[string]string{"x-ms-retry-after-ms": "1500"}, failure.Transient, 1500 * time.Millisecond, ""},
		{"throttled by a gateway", 429, map[string]string{"Retry-After": "3"}, failure.Transient, 3 * time.Second, ""},
		{"retry with", 449, nil, failure.Transient, 0, ""},
		{"internal error", 500, nil, failure.Transient, 0, ""},
		{"unavailable", 503, nil, failure.Transient, 0, ""},
		{"unknown refusal", 418, nil, failure.Permanent, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, _ := fakeAccount(t, Options{Retries: -1}, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.headers {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
			})
			_, err := container(t, db).Create(t.Context(), "a", "a", []byte(`{"id":"a"}`))
			var judged *failure.Error
			if !errors.As(err, &judged) {
				t.Fatalf("got %v, want a *failure.Error", err)
			}
			if judged.Kind != c.kind || judged.RetryAfter != c.after || judged.Op != "create" || judged.ID != "things/a" {
				t.Errorf("got %+v, want kind %v and delay %v", judged, c.kind, c.after)
			}
			if !strings.Contains(err.Error(), c.advice) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got text %q, want one line with %q", err, c.advice)
			}
		})
	}
}

func TestThrottlingIsWaitedOut(t *testing.T) {
	var n atomic.Int64
	db, requests := fakeAccount(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) < 3 {
			w.Header().Set("x-ms-retry-after-ms", "5")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusCreated)
	})
	etag, err := container(t, db).Create(t.Context(), "a", "a", []byte(`{"id":"a"}`))
	if err != nil || etag != `"1"` || requests.Load() != 3 {
		t.Errorf("got %q, %v after %d requests", etag, err, requests.Load())
	}
}

func TestLongThrottlingIsLeftToTheCaller(t *testing.T) {
	db, requests := fakeAccount(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-ms-retry-after-ms", "60000")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, _, err := container(t, db).Read(t.Context(), "a", "a")
	if failure.RetryAfter(err) != time.Minute || requests.Load() != 1 {
		t.Errorf("got %v after %d requests, want the delay of a minute after one", err, requests.Load())
	}
}

func TestEndOfTimeIsTransient(t *testing.T) {
	release := make(chan struct{})
	db, _ := fakeAccount(t, Options{Timeout: 50 * time.Millisecond, Retries: -1}, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) }) // before the server is closed
	_, _, err := container(t, db).Read(t.Context(), "a", "a")
	if !failure.Is(err, failure.Transient) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a transient failure that is the deadline's", err)
	}
	if err := db.Ping(t.Context()); !failure.Is(err, failure.Transient) {
		t.Errorf("ping: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	db, err := Open(Connection{ConnectionString: "AccountEndpoint=http://127.0.0.1:1/;AccountKey=c2VjcmV0"},
		Options{Database: "test", Timeout: 100 * time.Millisecond, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, _, err := container(t, db).Read(t.Context(), "a", "a"); !failure.Is(err, failure.Transient) {
		t.Errorf("got %v, want a transient failure", err)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		c Connection
		o Options
	}{
		{Connection{ConnectionString: "AccountEndpoint=http://x/;AccountKey=c2VjcmV0"}, Options{}},
		{Connection{}, Options{Database: "test"}},
		{Connection{Endpoint: "http://x/"}, Options{Database: "test"}},
		{Connection{ConnectionString: "nonsense"}, Options{Database: "test"}},
	} {
		if db, err := Open(c.c, c.o); err == nil {
			db.Close()
			t.Errorf("%+v with %+v was opened", c.c, c.o)
		}
	}
}
