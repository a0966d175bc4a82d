package host

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// newAdmin serves what the host answers under /admin; see administrator.
func (h *Host) newAdmin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/host/ping", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /admin/host/ping", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /admin/host/status", h.adminStatus)
	mux.HandleFunc("GET /admin/functions", h.adminFunctions)
	mux.HandleFunc("GET /admin/functions/{name}", h.adminFunction)
	mux.HandleFunc("POST /admin/functions/{name}", h.adminInvoke)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.administrator(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (h *Host) adminStatus(w http.ResponseWriter, _ *http.Request) {
	state := "Initialized"
	select {
	case <-h.ready:
		state = "Running"
	default:
	}
	h.writeJSON(w, map[string]any{
		"id": h.cfg.InstanceID, "state": state, "version": Version, "versionDetails": Version,
		"instanceId": h.cfg.InstanceID, "processUptime": h.cfg.Now().Sub(h.started).Milliseconds(),
		"functionAppContentEditingState": "Unknown", "errors": []string{},
	})
}

func (h *Host) adminFunctions(w http.ResponseWriter, _ *http.Request) {
	out := []any{}
	for _, f := range h.Functions() {
		out = append(out, h.describe(f))
	}
	h.writeJSON(w, out)
}

func (h *Host) adminFunction(w http.ResponseWriter, r *http.Request) {
	for _, f := range h.Functions() {
		if strings.EqualFold(f.Name, r.PathValue("name")) {
			h.writeJSON(w, h.describe(f))
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

func (h *Host) describe(f FunctionInfo) any {
	origin := "http://" + h.cfg.Listener.Addr().String()
	out := map[string]any{
		"name": f.Name, "href": origin + "/admin/functions/" + f.Name, "isDisabled": false, "language": "Custom",
		"config": map[string]any{"bindings": []any{map[string]any{"type": f.Trigger, "direction": "in"}}},
	}
	if f.Path != "" {
		out["invoke_url_template"] = origin + f.Path
	}
	return out
}

// adminInvoke runs a function that isn't triggered by HTTP: 202, and the
// invocation goes on by itself. {"input": text} becomes the event or the
// message; a timer ignores it.
func (h *Host) adminInvoke(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(h.app.Functions, func(f config.Function) bool { return strings.EqualFold(f.Name, r.PathValue("name")) })
	if i < 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f := &h.app.Functions[i]
	// A page of another origin can send text/plain, but no JSON unasked.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "the content type must be application/json")
		return
	}
	var body struct{ Input string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, "the body must be {\"input\": \"text\"}: "+err.Error())
		return
	}
	inv, err := h.manual(f, body.Input)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if !h.admitted(func(ctx context.Context) {
		_ = h.invokeWithRetry(ctx, f, inv) // invoke logs it, and the caller has his 202
	}) {
		fail(w, http.StatusServiceUnavailable, "the host is not running")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// manual makes the invocation of a function that an administrator starts.
func (h *Host) manual(f *config.Function, input string) (payload.Invocation, error) {
	for _, t := range h.triggers {
		if t.function() == f {
			return t.manual(input)
		}
	}
	return payload.Invocation{}, fmt.Errorf("%s is an HTTP function: call its own URL", f.Name)
}

func (h *Host) writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		h.cfg.Logger.Debug("the client left", "error", err)
	}
}
