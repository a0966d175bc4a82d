package ingest

import (
	"testing"
	"time"
)

func TestLimitAfterAWindow(t *testing.T) {
	const target = 200 * time.Millisecond
	tests := map[string]struct {
		limit float64
		most  int
		mean  time.Duration
		want  float64
	}{
		"too slow":           {limit: 500, most: 500, mean: 400 * time.Millisecond, want: 250},
		"far too slow":       {limit: 500, most: 500, mean: 10 * time.Second, want: leastUnderWay},
		"slow, half used":    {limit: 500, most: 250, mean: 250 * time.Millisecond, want: 200},
		"slow, hardly used":  {limit: 500, most: 249, mean: 10 * time.Second, want: 500},
		"quick, hardly used": {limit: 500, most: 249, mean: time.Millisecond, want: 500},
		"nearly too slow":    {limit: 500, most: 500, mean: 180 * time.Millisecond, want: 500.0 / 9 * 10},
		"quick":              {limit: 500, most: 500, mean: time.Millisecond, want: 750},
		"at once":            {limit: 500, most: 500, mean: 0, want: 750},
	}
	for name, tc := range tests {
		w := window{most: tc.most, ended: 10, took: 10 * tc.mean}
		if got := limitAfter(tc.limit, w, target); got < tc.want-1 || got > tc.want+1 {
			t.Errorf("%s: %.0f, want %.0f", name, got, tc.want)
		}
	}
}

// Ensure that those that came in under an earlier limit don't lower the next one.
func TestThrottleForgetsWhatCameBefore(t *testing.T) {
	throttle, began := NewThrottle(200*time.Millisecond), time.Unix(1_000_000, 0)
	for range 400 {
		throttle.Enter()
	}
	throttle.Leave(began, began.Add(600*time.Millisecond))
	limit := throttle.limit
	for range 399 {
		throttle.Leave(began, began.Add(5*time.Second))
	}
	if int(limit) != 133 || throttle.limit != limit || throttle.underWay != 0 {
		t.Errorf("the limit was %.0f and is %.0f, %d are under way", limit, throttle.limit, throttle.underWay)
	}
}
