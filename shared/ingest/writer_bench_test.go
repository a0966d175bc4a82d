package ingest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// callers is how many requests are handled at once in the benchmarks.
const callers = 256

// BenchmarkAppend is the group commit against a hub that takes 2 ms per send.
// Compare it with BenchmarkSendEach: the ratio of their ns/op is what the group
// commit gains.
func BenchmarkAppend(b *testing.B) {
	p := &slowHub{}
	w := NewWriter(p, Limits{}, nil)
	run(b, p, func(e Event) error { return w.Append(b.Context(), e) })
	if err := w.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSendEach sends every event alone; a partition acknowledges one send
// after the other, as a link does.
func BenchmarkSendEach(b *testing.B) {
	p := &slowHub{}
	run(b, p, func(e Event) error {
		return p.Send(b.Context(), hubPartitions[rand.IntN(len(hubPartitions))], []Event{e})
	})
}

func run(b *testing.B, p *slowHub, add func(Event) error) {
	body := make([]byte, 1024)
	var n atomic.Int64
	b.SetParallelism(callers / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := time.Duration(n.Add(1)).String()
			if err := add(Event{TransactionID: key, Body: body}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n.Load())/float64(p.sends.Load()), "events/send")
}

var hubPartitions = []string{"0", "1", "2", "3"}

// slowHub acknowledges one send per partition at a time, after 2 ms.
type slowHub struct {
	sends atomic.Int64
	links [4]sync.Mutex
}

func (h *slowHub) Partitions(context.Context) ([]string, error) { return hubPartitions, nil }

func (h *slowHub) Send(_ context.Context, partition string, _ []Event) error {
	i, err := strconv.Atoi(partition)
	if err != nil {
		return err
	}
	h.links[i].Lock()
	defer h.links[i].Unlock()
	h.sends.Add(1)
	<-time.After(2 * time.Millisecond)
	return nil
}
