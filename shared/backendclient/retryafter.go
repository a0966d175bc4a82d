package backendclient

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds what a service may ask to wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header Retry-After: seconds or a date (RFC 9110, section
// 10.2.3). What is neither counts as 0, as does the past.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(0, date.Sub(now)), maxRetryAfter)
	}
	return 0
}
