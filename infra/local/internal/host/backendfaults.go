package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// headerTransaction is the header by which the calls of the workflow are known:
// the transaction that they are made for.
const headerTransaction = "Transaction-Id"

// breakable puts the faults of calls to backends in front of a function, if it
// is one. They stand for what lies between the workflow and a backend, not for
// the backend: its rules are not touched. Calls without Transaction-Id, those of
// people, always pass.
func (h *Host) breakable(f *config.Function, next httpServe) httpServe {
	faults := h.cfg.Faults
	if faults == nil || !slices.Contains(h.cfg.Backends, f.Name) {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		if r.Method == http.MethodDelete {
			defer h.late.undone(r.URL.Path)
		}
		if faults.Idle() || r.Header.Get(headerTransaction) == "" {
			next(w, r, params)
			return
		}
		if !h.outage(w, f.Name) {
			h.breakCall(w, r, params, f.Name, next)
		}
	}
}

// outage answers a call to a function that is away, or reports that it is not:
// as a platform does whose app is stopped, forbidden or gone, which is no word
// of the backend's.
func (h *Host) outage(w http.ResponseWriter, function string) bool {
	faults := h.cfg.Faults
	if n, hit := faults.NextIn(fault.BackendAway, function); hit {
		if n%2 == 0 {
			cutConnection()
		}
		fail(w, http.StatusServiceUnavailable, "fault injection: the backend is away")
		return true
	}
	for _, page := range platformPages {
		if _, hit := faults.NextIn(page.point, function); hit {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(page.status)
			fmt.Fprintf(w, "<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%[1]s</h1></body></html>", page.title)
			return true
		}
	}
	return false
}

// platformPages are what the App Service answers for an app that is stopped, and
// for one whose name is not known (Microsoft Learn, "HTTP 403 (Site Disabled)" and
// "404 Web Site not found" in the troubleshooting of App Service).
var platformPages = []struct {
	point  fault.Point
	status int
	title  string
}{
	{fault.BackendForbidden, http.StatusForbidden, "Web App - Unavailable"},
	{fault.BackendNotFound, http.StatusNotFound, "404 Web Site not found"},
}

// breakCall passes one call on, or breaks it: by one fault, or, where it is a
// slow one, by one after the wait.
func (h *Host) breakCall(w http.ResponseWriter, r *http.Request, params map[string]string, function string, next httpServe) {
	faults := h.cfg.Faults
	if r.Method == http.MethodDelete && faults.HitKey(fault.BackendUndoRefused, r.Header.Get(headerTransaction)) {
		// For good, as a backend says it itself: with a problem document of its
		// own that is not forbidden, which means that the caller is locked out.
		problem.Write(w, r, *problem.New(problem.Conflict, "fault injection: the undo is refused"))
		return
	}
	if wait := faults.WaitIn(fault.BackendSlow, function); wait > 0 && !sleep(r.Context(), wait) {
		cutConnection()
	}
	if faults.HitIn(fault.BackendError, function) {
		fail(w, http.StatusServiceUnavailable, "fault injection: the backend is not available")
		return
	}
	if faults.HitIn(fault.BackendReset, function) {
		cutConnection()
	}
	// A call that only reads can't come too late.
	if r.Method != http.MethodGet {
		if wait := faults.WaitIn(fault.BackendLate, function); wait > 0 {
			h.deliverLate(r, params, wait, next)
			cutConnection()
		}
	}
	if faults.HitIn(fault.BackendAnswerLost, function) {
		next(&lostAnswer{header: http.Header{}}, r, params)
		cutConnection()
	}
	next(w, r, params)
}

// cutConnection ends the request without an answer, and its connection.
func cutConnection() { panic(http.ErrAbortHandler) }

// deliverLate has the call reach the function after a wait, for a caller that is
// gone by then, or right behind the undo of what it asks for, if that comes
// before: where it does most harm. A call that is still on its way when the host
// stops is lost.
func (h *Host) deliverLate(r *http.Request, params map[string]string, wait time.Duration, next httpServe) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it has not been sent whole
	}
	// The request is the server's again when its handler returns.
	late := r.Clone(h.calls)
	late.Body = io.NopCloser(bytes.NewReader(body))
	late.Header.Del("User-Agent") // its caller does not die of it
	undone, forget := h.late.add(r.URL.Path)
	h.admitted(func(ctx context.Context) {
		defer forget()
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-undone:
		case <-ctx.Done():
			return
		}
		defer func() {
			// As the server does for a function that gives a call up.
			if v := recover(); v != nil && v != any(http.ErrAbortHandler) {
				panic(v)
			}
		}()
		answer := &lostAnswer{http.Header{}, http.StatusOK}
		next(answer, late.WithContext(ctx), params)
		h.cfg.Logger.Info(LateCall, "method", r.Method, "path", r.URL.Path, "status", answer.status)
	})
}

// lateCalls are the calls on their way, by path. The zero value has none. It is
// safe for concurrent use.
type lateCalls struct {
	mu     sync.Mutex
	behind map[string]chan struct{} // closed when what the path names was undone
}

// add returns what tells when the path was undone next. forget ends that for all
// calls of the path: of several, those behind the first to arrive wait their time.
func (l *lateCalls) add(path string) (undone <-chan struct{}, forget func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.behind == nil {
		l.behind = map[string]chan struct{}{}
	}
	c := l.behind[path]
	if c == nil {
		c = make(chan struct{})
		l.behind[path] = c
	}
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.behind[path] == c {
			delete(l.behind, path)
		}
	}
}

// undone lets the calls of a path arrive.
func (l *lateCalls) undone(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.behind[path]; c != nil {
		close(c)
		delete(l.behind, path)
	}
}

// LateCall is the line of the log that tells what a late call was answered: 410
// for one that came after the undo of what it was to do.
const LateCall = "fault injection: a late call has arrived"

// lostAnswer takes an answer that nobody gets.
type lostAnswer struct {
	header http.Header
	status int
}

func (l *lostAnswer) Header() http.Header         { return l.header }
func (l *lostAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (l *lostAnswer) WriteHeader(status int)      { l.status = status }
