package cosmos

import (
	"fmt"
	"net/http"
	"runtime"
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

// BenchmarkKept keeps documents of 1 KiB on disk, like those of transactions that have
// ended, and reports how much memory each takes: as they come, and after a restart.
//
//	go test -run '^$' -bench Kept -benchtime 20000x ./infra/local/internal/cosmos
func BenchmarkKept(b *testing.B) {
	const ended = `{"id":"c","partitionKey":{"paths":["/id"],"kind":"Hash","version":2},"indexingPolicy":{` +
		`"includedPaths":[{"path":"/outbox/at/?"},{"path":"/state/?"},{"path":"/wakeAt/?"}],"excludedPaths":[{"path":"/*"}]}}`
	dir, text := b.TempDir(), strings.Repeat("x", 1024)
	now, before := time.Now(), heap()
	serve := func(use func(*Server)) {
		disk, err := store.OpenDisk(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := New(Config{Now: func() time.Time { return now }}, disk)
		if err != nil {
			b.Fatal(err)
		}
		use(s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if err := disk.Close(); err != nil {
			b.Fatal(err)
		}
	}
	serve(func(s *Server) {
		create := func(path, body string, headers ...string) {
			if w := ask(s, now, http.MethodPost, path, body, headers...); w.Code != http.StatusCreated {
				b.Fatalf("%s: status %d, %s", path, w.Code, w.Body)
			}
		}
		create("/dbs", `{"id":"d"}`)
		create("/dbs/d/colls", ended)
		b.ResetTimer()
		for n := range b.N {
			id := fmt.Sprintf("m1.k.0198f3c27d5e70008000%012d.0123456789abcdef", n)
			create("/dbs/d/colls/c/docs", fmt.Sprintf(`{"id":%q,"state":"Completed","text":%q}`, id, text), "x-ms-documentdb-partitionkey", fmt.Sprintf(`[%q]`, id))
		}
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/float64(b.N), "heap-B/op")
	})
	serve(func(s *Server) { b.ReportMetric(float64(heap()-before)/float64(b.N), "restarted-heap-B/op") })
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
