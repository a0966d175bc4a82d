package host

import (
	"crypto/subtle"
	"net/http"
)

// authorized checks the key of a request: header x-functions-key, or the query
// parameter code. Without EnableAuth everyone may do everything, as with func
// start.
func (h *Host) authorized(r *http.Request, level string) bool {
	if !h.cfg.EnableAuth || level == "anonymous" {
		return true
	}
	key := r.Header.Get("x-functions-key")
	if key == "" {
		key = r.URL.Query().Get("code")
	}
	if same(key, h.cfg.MasterKey) {
		return true
	}
	return level == "function" && same(key, h.cfg.HostKey)
}

// same compares keys; an empty key opens nothing.
func same(key, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
}
