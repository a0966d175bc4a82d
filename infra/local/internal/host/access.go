package host

import (
	"crypto/subtle"
	"net/http"
)

// authorized checks the key of a request to a function: header x-functions-key,
// or the query parameter code. Without EnableAuth everyone may do everything, as with func
// start.
func (h *Host) authorized(r *http.Request, level string) bool {
	if !h.cfg.EnableAuth || level == "anonymous" {
		return true
	}
	key := keyOf(r)
	if same(key, h.cfg.MasterKey) {
		return true
	}
	return level == "function" && same(key, h.cfg.HostKey)
}

func keyOf(r *http.Request) string {
	if key := r.Header.Get("x-functions-key"); key != "" {
		return key
	}
	return r.URL.Query().Get("code")
}

// administrator reports whether a request may use /admin, for which the host
// wants its master key (Microsoft Learn, "Work with access keys in Azure
// Functions"). With neither keys nor EnableAuth everyone may.
func (h *Host) administrator(r *http.Request) bool {
	return !h.cfg.EnableAuth && h.cfg.MasterKey == "" || same(keyOf(r), h.cfg.MasterKey)
}

// same compares keys; an empty key opens nothing.
func same(key, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(key), []byte(want)) == 1
}
