package cosmosdb

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Ensure that operations succeed as soon as the account does, although the first
// look at it has failed, by an answer or by none.
func TestFirstFailureIsForgotten(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"unavailable": http.StatusServiceUnavailable, "no answer": 0} {
		t.Run(name, func(t *testing.T) {
			var up atomic.Bool
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !up.Load() && status == 0:
					panic(http.ErrAbortHandler)
				case !up.Load():
					w.WriteHeader(status)
				case r.URL.Path == "/":
					region := `[{"name":"here","databaseAccountEndpoint":"` + server.URL + `/"}]`
					w.Write([]byte(`{"id":"test","writableLocations":` + region + `,"readableLocations":` + region + `}`))
				default:
					w.Header().Set("ETag", `"1"`)
					w.Write([]byte(`{"id":"a"}`))
				}
			}))
			t.Cleanup(server.Close)
			db, err := Open(Connection{ConnectionString: "AccountEndpoint=" + server.URL + "/;AccountKey=c2VjcmV0"},
				Options{Database: "test", Retries: -1, Timeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			c := container(t, db)
			for range 2 {
				if _, _, err := c.Read(t.Context(), "a", "a"); err == nil {
					t.Fatal("read while the account is down")
				}
			}
			up.Store(true)
			if _, _, err := c.Read(t.Context(), "a", "a"); err != nil {
				t.Errorf("the account is up: %v", err)
			}
			proven := db.account.current.Load()
			up.Store(false)
			if _, _, err := c.Read(t.Context(), "a", "a"); err == nil {
				t.Error("read while the account is down again")
			}
			if db.account.current.Load() != proven {
				t.Error("a client that got through was replaced")
			}
		})
	}
}
