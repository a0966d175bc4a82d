package customhandler

import (
	"io"
	"net/http"
)

// drainLimit is the host's own limit for a request body, in bytes
// (FUNCTIONS_REQUEST_BODY_SIZE_LIMIT).
const drainLimit = 104857600

// drained returns next, whose answers are sent when the request has been read to
// its end. The host forwards a body while it waits for the answer; if the
// connection were closed on it in the middle, it would report a failure of the
// handler instead of the refusal that it was sent.
func drained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&drainingWriter{ResponseWriter: w, body: r.Body}, r)
	})
}

// drainingWriter reads what is left of the request before the answer begins.
type drainingWriter struct {
	http.ResponseWriter
	body  io.Reader
	begun bool
}

func (w *drainingWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.drain()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *drainingWriter) Write(b []byte) (int, error) {
	w.drain()
	return w.ResponseWriter.Write(b)
}

func (w *drainingWriter) drain() {
	if w.begun {
		return
	}
	w.begun = true
	// A body that breaks off, or is larger, ends the connection as before.
	_, _ = io.Copy(io.Discard, io.LimitReader(w.body, drainLimit))
}

// Unwrap is for http.ResponseController.
func (w *drainingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
