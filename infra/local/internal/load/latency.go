package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The latencies that are told apart: in microseconds, to three digits. Longer ones
// count as the longest.
const (
	shortestLatency = 1
	longestLatency  = int64(10 * time.Minute / time.Microsecond)
	latencyDigits   = 3
)

// latencies is a distribution of latencies. It is safe for concurrent use.
type latencies struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

func newLatencies() *latencies {
	return &latencies{h: hdrhistogram.New(shortestLatency, longestLatency, latencyDigits)}
}

func (l *latencies) record(d time.Duration) {
	micros := min(max(d.Microseconds(), shortestLatency), longestLatency)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.h.RecordValue(micros); err != nil {
		panic(err) // out of a range that it is never out of
	}
}

// Latency is what is told of a distribution of latencies. Half of them were at
// most P50, and so on.
type Latency struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50Nanoseconds"`
	P90   time.Duration `json:"p90Nanoseconds"`
	P99   time.Duration `json:"p99Nanoseconds"`
	P999  time.Duration `json:"p999Nanoseconds"`
	Max   time.Duration `json:"maxNanoseconds"`
}

func (l *latencies) sum() Latency {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := func(percentile float64) time.Duration {
		return time.Duration(l.h.ValueAtPercentile(percentile)) * time.Microsecond
	}
	return Latency{l.h.TotalCount(), at(50), at(90), at(99), at(99.9), at(100)}
}
