package host

import (
	"net/http"
)

// A throttle keeps maxConcurrentRequests and maxOutstandingRequests of
// host.json: so many requests run, the next wait in line, and those beyond the
// line get 429.
type throttle struct {
	next    http.Handler
	running chan struct{} // nil without a limit
	inside  chan struct{} // running or waiting; nil without a limit
}

func newThrottle(concurrent, outstanding int, next http.Handler) http.Handler {
	if concurrent < 1 && outstanding < 1 {
		return next
	}
	t := &throttle{next: next}
	if concurrent > 0 {
		t.running = make(chan struct{}, concurrent)
	}
	if outstanding > 0 {
		t.inside = make(chan struct{}, outstanding)
	}
	return t
}

func (t *throttle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t.inside != nil {
		select {
		case t.inside <- struct{}{}:
			defer func() { <-t.inside }()
		default:
			fail(w, http.StatusTooManyRequests, "maxOutstandingRequests of host.json is reached")
			return
		}
	}
	if t.running != nil {
		select {
		case t.running <- struct{}{}:
			defer func() { <-t.running }()
		case <-r.Context().Done():
			return
		}
	}
	t.next.ServeHTTP(w, r)
}
