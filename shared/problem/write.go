package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// ContentType is the media type of a problem document (RFC 9457, section 6.1).
const ContentType = "application/problem+json"

// Write answers r with p. Headers that the caller has set stay, but for the
// content type. An extension that has no JSON form is answered as Internal, so
// that a client never gets half a document.
func Write(w http.ResponseWriter, r *http.Request, p Problem) {
	if p.Status < 400 || p.Status > 599 {
		p.Status = http.StatusInternalServerError
	}
	if p.Instance == "" && r != nil {
		p.Instance = r.URL.Path
	}
	body, err := json.Marshal(p)
	if err != nil {
		p = Problem{Type: Internal.ID, Title: Internal.Title, Status: Internal.Status, Instance: p.Instance}
		body, _ = p.MarshalJSON() // strings only: it can't fail
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(wholeSeconds(p.RetryAfter)))
	}
	w.WriteHeader(p.Status)
	// A client that is gone can't be told that it is.
	_, _ = w.Write(body)
}

// wholeSeconds rounds up: a client must not come back too early (RFC 9110,
// section 10.2.3 knows seconds only).
func wholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
