package workflow

import "time"

// MaxRetryAfter is the longest wait that a service is granted when it asks for
// one.
const MaxRetryAfter = time.Hour

// Backoff is the schedule of later wakes. It is a value: asking it changes
// nothing.
type Backoff struct {
	Min, Max time.Duration
	// Jitter is a fraction in [0,1) that spreads transactions that failed
	// together. It is drawn once per runner, so that a save that is repeated
	// writes the same times.
	Jitter float64
}

// Delay returns the time to the nth wake in a row that brought nothing forward
// (from 1): it doubles from Min to Max, less up to a half for the jitter, and
// is never below Min.
func (b Backoff) Delay(n int) time.Duration {
	d := b.Min
	for i := 1; i < n && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	return max(b.Min, d-time.Duration(b.Jitter*float64(d)/2))
}

// wait prefers what the service asked for to our own delay. All that wait for
// the same are told the same, so a part of the delay is added: they do not come
// back at one instant, and the longer they have waited, the wider they spread.
// What no service has asked for, but a limit on this side, only makes the delay
// longer.
func (b Backoff) wait(o Outcome, delay time.Duration) time.Duration {
	if o.RetryAfter <= 0 {
		return delay
	}
	asked := min(o.RetryAfter, MaxRetryAfter) + time.Duration(b.Jitter*float64(delay)/2)
	if o.Status == 0 {
		return max(asked, delay)
	}
	return asked
}
