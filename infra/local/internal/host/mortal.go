package host

import (
	"bytes"
	"io"
	"maps"
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// mortal passes a call on to a function, unless its caller is a handler that dies
// before that or, if it has changed something, before it has the answer. The function
// may be of the same handler.
func (h *Host) mortal(f *config.Function, next httpServe) httpServe {
	crashes := h.cfg.Crashes
	if crashes == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		agent := r.UserAgent()
		if !crashes.Watches(agent) {
			next(w, r, params)
			return
		}
		name := effect.Call(r.Method, f.Name)
		if death := crashes.Passes(agent, effect.Before, name); death != nil {
			// Before the server has read all, it does not see that a client is gone.
			_, _ = io.Copy(io.Discard, r.Body)
			death.Bring(r.Context().Done())
			cutConnection()
		}
		answer := &heldAnswer{header: http.Header{}, status: http.StatusOK}
		next(answer, r, params)
		if answer.status < http.StatusMultipleChoices && answer.header.Get(record.HeaderChanged) != "" {
			if death := crashes.Passes(agent, effect.Answer, name); death != nil {
				death.Bring(r.Context().Done())
				cutConnection()
			}
		}
		answer.write(w)
	}
}

// heldAnswer keeps an answer back.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *heldAnswer) Header() http.Header         { return a.header }
func (a *heldAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *heldAnswer) WriteHeader(status int)      { a.status = status }

func (a *heldAnswer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // to a caller that may have gone
}
