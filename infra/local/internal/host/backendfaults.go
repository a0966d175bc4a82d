package host

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
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
		if faults.Idle() || r.Header.Get(headerTransaction) == "" {
			next(w, r, params)
			return
		}
		h.breakCall(w, r, params, next)
	}
}

// breakCall passes one call on, or breaks it: by one fault, or, where it is a
// slow one, by one after the wait.
func (h *Host) breakCall(w http.ResponseWriter, r *http.Request, params map[string]string, next httpServe) {
	faults := h.cfg.Faults
	if r.Method == http.MethodDelete && faults.HitKey(fault.BackendUndoRefused, r.Header.Get(headerTransaction)) {
		// For good, as a backend does that forbids it.
		problem.Write(w, r, *problem.New(problem.Forbidden, "fault injection: the undo is refused"))
		return
	}
	if wait := faults.Wait(fault.BackendSlow); wait > 0 && !sleep(r.Context(), wait) {
		cutConnection()
	}
	if faults.Hit(fault.BackendError) {
		fail(w, http.StatusServiceUnavailable, "fault injection: the backend is not available")
		return
	}
	if faults.Hit(fault.BackendReset) {
		cutConnection()
	}
	if wait := faults.Wait(fault.BackendLate); wait > 0 {
		h.deliverLate(r, params, wait, next)
		cutConnection()
	}
	if faults.Hit(fault.BackendAnswerLost) {
		next(lostAnswer{http.Header{}}, r, params)
		cutConnection()
	}
	next(w, r, params)
}

// cutConnection ends the request without an answer, and its connection.
func cutConnection() { panic(http.ErrAbortHandler) }

// deliverLate has the call reach the function after a wait, for a caller that
// is gone by then. A call that is still on its way when the host stops is lost.
func (h *Host) deliverLate(r *http.Request, params map[string]string, wait time.Duration, next httpServe) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it has not been sent whole
	}
	// The request is the server's again when its handler returns.
	late := r.Clone(h.calls)
	late.Body = io.NopCloser(bytes.NewReader(body))
	h.admitted(func(ctx context.Context) {
		if !sleep(ctx, wait) {
			return
		}
		defer func() {
			// As the server does for a function that gives a call up.
			if v := recover(); v != nil && v != any(http.ErrAbortHandler) {
				panic(v)
			}
		}()
		next(lostAnswer{http.Header{}}, late.WithContext(ctx), params)
	})
}

// lostAnswer takes an answer that nobody gets.
type lostAnswer struct{ header http.Header }

func (l lostAnswer) Header() http.Header         { return l.header }
func (l lostAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (l lostAnswer) WriteHeader(int)             {}
