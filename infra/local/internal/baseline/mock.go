package baseline

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Mock stands for the backends: it answers each call of a step with success, after
// a while, and keeps nothing.
type Mock struct {
	// Latency is how long a call takes, but for Share of them, in [0,1], which take
	// Tail.
	Latency, Tail time.Duration
	Share         float64
	// Answers are what calls are answered with, by the first segment of their path;
	// an empty object if there is none.
	Answers map[string]json.RawMessage
}

// ServeHTTP answers a call.
func (m Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)); err != nil {
		return // the client has gone
	}
	wait := m.Latency
	if m.Share > 0 && rand.Float64() < m.Share {
		wait = m.Tail
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	backend, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	answer, ok := m.Answers[backend]
	if !ok {
		answer = json.RawMessage(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	// Nobody to tell when the client has gone.
	_, _ = w.Write(answer)
}
