package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// BenchmarkCommit commits batches of the size that a message makes, each
// committer waiting for its own, and reports how many batches share a sync.
//
//	go test -run '^$' -bench Commit ./infra/local/internal/store
func BenchmarkCommit(b *testing.B) {
	for name, open := range map[string]func(*testing.B) Store{
		"Disk":   func(b *testing.B) Store { return openDisk(b, files.System{}, b.TempDir()) },
		"Memory": func(*testing.B) Store { return NewMemory() },
	} {
		for _, committers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s-%d", name, committers), func(b *testing.B) {
				s := open(b)
				value := make([]byte, 1000)
				var next atomic.Int64
				var wg sync.WaitGroup
				b.ResetTimer()
				for range committers {
					wg.Go(func() {
						for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
							var batch Batch
							batch.Put(fmt.Sprintf("content/%08d", n), value)
							batch.Put(fmt.Sprintf("state/%08d", n), value[:100])
							batch.Delete(fmt.Sprintf("content/%08d", n-100))
							batch.Delete(fmt.Sprintf("state/%08d", n-100))
							if err := Apply(s, batch); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
				if d, ok := s.(*Disk); ok {
					b.ReportMetric(float64(b.N)/float64(d.label.last.commit), "commits/sync")
				}
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
