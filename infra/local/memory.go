package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// ballast is how much more garbage may lie about before the collector runs, in bytes.
// Contents are on disk, and so little lives at first that it would run all the time.
// Memory that nobody writes to is counted by the collector, but takes none of the
// machine's.
const ballast = 64 << 20

// memoryLimit is what the runtime's own memory is kept below as long as that is
// possible, the ballast besides: with a million waiting transactions on disk it is at
// most 1 GiB in all.
const memoryLimit = ballast + 800<<20

// limitEvery is how often the limit follows what lives.
const limitEvery = 10 * time.Second

// limitFor returns the limit of memory where so many bytes of the heap live. A
// collection frees none of those: near the limit it would cost half of the CPU for
// nothing.
func limitFor(live int64) int64 { return max(memoryLimit, live+live/4) }

// limitMemory lets the garbage collector work more where memory nears the limit,
// unless GOMEMLIMIT says otherwise, or the contents are in memory. It ends with ctx.
func (f *dataFlags) limitMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" || f.in("") == "" {
		return
	}
	debug.SetMemoryLimit(memoryLimit)
	go func() {
		tick := time.NewTicker(limitEvery)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				metrics.Read(live)
				debug.SetMemoryLimit(limitFor(int64(live[0].Value.Uint64())))
			}
		}
	}()
}
