package failure

import (
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	tests := map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, "120": 2 * time.Minute, "-1": 0, "1.5": 0, "soon": 0,
		"4294967295": MaxRetryAfter, "99999999999999999999": 0,
		"Sat, 31 Jan 2026 16:01:00 GMT": time.Minute, "Sat, 31 Jan 2026 15:00:00 GMT": 0,
		"Saturday, 31-Jan-26 16:01:00 GMT": time.Minute, "Sat Jan 31 16:01:00 2026": time.Minute,
		"Sat, 31 Jan 2099 16:00:00 GMT": MaxRetryAfter,
	}
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	for header, want := range tests {
		if got := ParseRetryAfter(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
