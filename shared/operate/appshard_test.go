package operate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/operate"
)

// Ensure that an app says its shard whether it is ready or not, and that nothing else does.
func TestAppShard(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"ready":    {200, `{"status":"ready","shard":2}`, "2 <nil>"},
		"away":     {503, `{"type":"unavailable","shard":3}`, "3 <nil>"},
		"older":    {200, `{"status":"ready"}`, "names no shard"},
		"zero":     {200, `{"shard":0}`, "names no shard"},
		"other":    {200, `<html>`, "names no shard"},
		"redirect": {302, ``, "with status 302"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/ready" {
				t.Errorf("%s is asked", r.URL)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		for _, path := range []string{"", "/", "/api"} {
			n, err := operate.AppShard(t.Context(), server.URL+path)
			if got := fmt.Sprint(n, " ", err); !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", name, got)
			}
		}
		server.Close()
		if _, err := operate.AppShard(t.Context(), server.URL); err == nil {
			t.Error("nobody serves")
		}
	}
}
