package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Ensure a batch that fails by itself is taken where one comes in time, and that
// attempts are withheld only after that.
func TestRepeatsAwait(t *testing.T) {
	const patience = 2500 * time.Millisecond // between two attempts, so that neither is due at its end
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			fails, want time.Duration // since the wait began
		}{
			"it fails already": {0, 0},
			"it fails in time": {2 * time.Second, 2 * time.Second},
			"it is made to":    {time.Hour, 3 * time.Second},
		} {
			var r repeats
			begun := time.Now()
			go func() { // a batch, attempted each second
				attempts := time.NewTicker(time.Second)
				defer attempts.Stop()
				for time.Since(begun) < c.fails && r.admit() == nil {
					<-attempts.C
				}
				r.enter()
			}()
			synctest.Wait()
			if err := r.await(t.Context(), patience); err != nil || time.Since(begun) != c.want || r.admit() == nil || !r.forgotten() {
				t.Errorf("%s: after %v: %v", name, time.Since(begun), err)
			}
		}
		var r repeats
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		if err := r.await(ctx, patience); !errors.Is(err, context.DeadlineExceeded) || r.admit() != nil || r.forgotten() {
			t.Errorf("without any batch: %v", err)
		}
	})
}
