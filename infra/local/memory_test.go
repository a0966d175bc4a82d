package main

import (
	"runtime/metrics"
	"testing"
)

// Ensure that the limit of memory leaves the collector something to collect.
func TestLimitFollowsWhatLives(t *testing.T) {
	for live, want := range map[int64]int64{0: memoryLimit, 600 << 20: memoryLimit, 1000 << 20: 1250 << 20} {
		if got := limitFor(live); got != want {
			t.Errorf("%d bytes live: limit %d, want %d", live, got, want)
		}
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		t.Errorf("nothing tells what lives: %v", sample[0].Value.Kind())
	}
}
