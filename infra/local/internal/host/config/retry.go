package config

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Retry is a retry policy (Microsoft Learn, "Azure Functions error handling
// and retries"). It works in memory, around the whole invocation.
type Retry struct {
	MaxCount    int // -1 for ever
	Exponential bool
	Delay       time.Duration // of fixedDelay
	Min, Max    time.Duration // of exponentialBackoff
}

// loadRetry reads the retry section of host.json or of a function.json; nil
// without one. Missing fields are problems, as the host throws.
func loadRetry(parent *section, p *Problems) *Retry {
	if !parent.has("retry") {
		return nil
	}
	s := parent.sub("retry")
	r := &Retry{MaxCount: s.integer("maxRetryCount", 0, -1)}
	if !s.has("maxRetryCount") {
		s.addf("maxRetryCount", "is required; -1 is for ever")
	}
	required := func(name string) time.Duration {
		if !s.has(name) {
			s.addf(name, "is required for this strategy, such as \"00:00:10\"")
		}
		return s.duration(name, 0, 0)
	}
	switch strategy := s.text("strategy", ""); strings.ToLower(strategy) {
	case "fixeddelay":
		r.Delay = required("delayInterval")
	case "exponentialbackoff":
		r.Exponential = true
		r.Min, r.Max = required("minimumInterval"), required("maximumInterval")
		if r.Min > r.Max {
			s.addf("minimumInterval", "must not be above maximumInterval")
		}
	default:
		s.addf("strategy", "must be fixedDelay or exponentialBackoff, not %q", strategy)
	}
	for _, name := range s.unknown() {
		p.addf(name, "is not a field of a retry policy")
	}
	return r
}

// Wait is the time between the attempt with this number (from 0) and the next.
// Those of an exponential policy are the minimum, and to that half as much
// again as the minimum doubled with each attempt, give or take a fifth
// (azure-webjobs-sdk, RandomizedExponentialBackoffStrategy): with a minimum of
// 1 s about 1, 2, 3, 5, 9, 17 s.
func (r Retry) Wait(attempt int) time.Duration {
	if !r.Exponential {
		return r.Delay
	}
	if attempt == 0 {
		return r.Min
	}
	more := float64(r.Min) * math.Pow(2, float64(min(attempt, 60)-1)) * (0.8 + 0.4*rand.Float64())
	return time.Duration(min(float64(r.Min)+more, float64(r.Max)))
}
