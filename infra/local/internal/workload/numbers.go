package workload

import (
	"math"
	"slices"
	"time"
)

// quantile returns the smallest duration that at least the share q of sorted
// ones do not exceed; 0 for none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Quantiles returns p50, p95 and p99 of durations in any order.
func Quantiles(durations []time.Duration) (p50, p95, p99 time.Duration) {
	sorted := slices.Sorted(slices.Values(durations))
	return quantile(sorted, 0.50), quantile(sorted, 0.95), quantile(sorted, 0.99)
}
