package cosmos

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// BenchmarkItem reads and replaces an item of 1 KiB, without a network, for an
// account that can't break and for one that could, but has no plan to: they
// should cost the same.
func BenchmarkItem(b *testing.B) {
	doc := `{"id":"a","pk":"p","text":"` + strings.Repeat("x", 1000) + `"}`
	for _, c := range []struct {
		name, method, body string
		in                 *fault.Injector
	}{
		{"read, no injector", http.MethodGet, "", nil},
		{"read, no plan", http.MethodGet, "", fault.New()},
		{"replace, no injector", http.MethodPut, doc, nil},
		{"replace, no plan", http.MethodPut, doc, fault.New()},
	} {
		b.Run(c.name, func(b *testing.B) {
			now := time.Now()
			s, err := New(Config{Now: func() time.Time { return now }, Faults: c.in}, store.NewMemory())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			do := func(method, path, body string, status int) {
				if w := ask(s, now, method, path, body, "x-ms-documentdb-partitionkey", `["p"]`); w.Code != status {
					b.Fatalf("%s %s: status %d, %s", method, path, w.Code, w.Body)
				}
			}
			do(http.MethodPost, "/dbs", `{"id":"d"}`, http.StatusCreated)
			do(http.MethodPost, "/dbs/d/colls", plainContainer, http.StatusCreated)
			do(http.MethodPost, "/dbs/d/colls/c/docs", doc, http.StatusCreated)
			b.ReportAllocs()
			for b.Loop() {
				do(c.method, "/dbs/d/colls/c/docs/a", c.body, http.StatusOK)
			}
		})
	}
}
