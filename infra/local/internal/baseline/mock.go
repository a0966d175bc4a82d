package baseline

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
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
	// Calls remembers the calls and tells of them at GET /calls; nil does neither.
	Calls *Calls
}

// Calls are the calls that a Mock has got, but for those that only read. It is safe
// for concurrent use.
type Calls struct {
	mu    sync.Mutex
	times map[string]int // by method and path
}

// NewCalls returns no calls.
func NewCalls() *Calls { return &Calls{times: map[string]int{}} }

// Told is what GET /calls answers.
type Told struct {
	Different int            `json:"different"`
	Again     int            `json:"again"`  // calls that were made before
	ByStep    map[string]int `json:"byStep"` // the different ones, by the first segment of their path
}

func (c *Calls) got(r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[r.Method+" "+r.URL.Path]++
}

func (c *Calls) told() Told {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := Told{Different: len(c.times), ByStep: map[string]int{}}
	for call, n := range c.times {
		told.Again += n - 1
		told.ByStep[strings.SplitN(call, "/", 3)[1]]++
	}
	return told
}

// ServeHTTP answers a call.
func (m Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)); err != nil {
		return // the client has gone
	}
	if m.Calls != nil {
		if r.URL.Path == "/calls" {
			w.Header().Set("Content-Type", "application/json")
			// Nobody to tell when the client has gone.
			_ = json.NewEncoder(w).Encode(m.Calls.told())
			return
		}
		m.Calls.got(r)
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
