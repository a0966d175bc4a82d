package host

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
)

// defaultBodyLimit is the host's limit for request bodies, in bytes. A larger
// one is a failure of the function to the host: an empty 500.
const defaultBodyLimit = 104857600

// An httpFunction serves the requests of one HTTP function.
type httpFunction struct {
	*config.Function
	serve httpServe
}

// httpServe answers a request to an HTTP function with the values of its
// route's parameters.
type httpServe func(w http.ResponseWriter, r *http.Request, params map[string]string)

// newHTTPFunction chooses the mode: proxying needs the host.json switch and
// exactly an httpTrigger and an http output; everything else is invoked with
// an envelope.
func (h *Host) newHTTPFunction(f *config.Function) *httpFunction {
	fn := &httpFunction{Function: f}
	if h.app.Host.Handler.Proxy && f.HTTPOutput != "" {
		proxy := h.newProxy(f)
		fn.serve = func(w http.ResponseWriter, r *http.Request, _ map[string]string) { proxy.ServeHTTP(w, r) }
	} else {
		fn.serve = func(w http.ResponseWriter, r *http.Request, params map[string]string) {
			h.serveEnvelope(f, w, r, params)
		}
	}
	fn.serve = h.breakable(f, h.mortal(f, fn.serve))
	return fn
}

// newFront is the handler of everything that arrives over HTTP.
func (h *Host) newFront() http.Handler {
	limit := int64(defaultBodyLimit)
	if text, ok := h.app.Settings.Lookup("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT"); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			limit = n
		} else {
			h.cfg.Logger.Warn("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT is no number of bytes above zero and has no effect", "value", text)
		}
	}
	functions := newThrottle(h.app.Host.HTTP.MaxConcurrent, h.app.Host.HTTP.MaxOutstanding, http.HandlerFunc(h.serveFunction))
	admin := h.newAdmin()
	metrics := h.metricsPath()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := hostPath(r.URL.EscapedPath())
		if !ok || !ascii(r.Header) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.URL.Path, r.URL.RawPath = path, ""
		if r.ContentLength > limit {
			h.cfg.Logger.Warn("the request body is too large", "bytes", r.ContentLength, "limit", limit)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		switch path := r.URL.EscapedPath(); {
		case path == "/admin" || strings.HasPrefix(strings.ToLower(path), "/admin/"):
			admin.ServeHTTP(w, r)
		case path == "/" && h.app.Host.HTTP.RoutePrefix != "":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintln(w, "Your Functions host is up and running.") // to a client that may have gone
		case path == storagePath:
			h.serveStorage(w, r)
		case path == metrics && r.Method == http.MethodGet:
			h.serveMetrics(w, r)
		default:
			functions.ServeHTTP(w, r)
		}
	})
}

// ascii reports whether all values of a header can be read by Kestrel.
func ascii(header http.Header) bool {
	for _, values := range header {
		for _, value := range values {
			for i := range len(value) {
				if value[i] >= utf8.RuneSelf {
					return false
				}
			}
		}
	}
	return true
}

// serveFunction finds the function of a request and calls it.
func (h *Host) serveFunction(w http.ResponseWriter, r *http.Request) {
	path, ok := cutRoutePrefix(r.URL.EscapedPath(), h.app.Host.HTTP.RoutePrefix)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fn, params, ok := h.routes.Lookup(r.Method, path)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !h.authorized(r, fn.Trigger.AuthLevel) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fn.serve(w, r, params)
}

// cutRoutePrefix takes "/prefix/" off a path, without regard to case.
func cutRoutePrefix(path, prefix string) (string, bool) {
	path = strings.TrimPrefix(path, "/")
	if prefix == "" {
		return path, true
	}
	if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return "", false
	}
	rest := path[len(prefix):]
	return strings.TrimPrefix(rest, "/"), rest == "" || rest[0] == '/'
}

// fail answers with a status and a reason.
func fail(w http.ResponseWriter, status int, reason string) {
	http.Error(w, reason, status)
}
