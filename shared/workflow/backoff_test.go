package workflow_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestDelay(t *testing.T) {
	for _, tc := range []struct {
		n      int
		jitter float64
		want   time.Duration
	}{
		{0, 0, 5 * time.Second},
		{1, 0, 5 * time.Second},
		{1, 0.99, 5 * time.Second}, // never below the least
		{2, 0, 10 * time.Second},
		{2, 0.5, 7500 * time.Millisecond},
		{3, 0, 20 * time.Second},
		{6, 0, 160 * time.Second},
		{7, 0, 5 * time.Minute},
		{1000000000, 0, 5 * time.Minute},
		{1000000000, 0.5, 225 * time.Second},
	} {
		b := workflow.Backoff{Min: 5 * time.Second, Max: 5 * time.Minute, Jitter: tc.jitter}
		if got := b.Delay(tc.n); got != tc.want {
			t.Errorf("delay %d with jitter %v is %s, want %s", tc.n, tc.jitter, got, tc.want)
		}
		if again := b.Delay(tc.n); again != b.Delay(tc.n) {
			t.Errorf("asking changes the delay")
		}
	}
}
