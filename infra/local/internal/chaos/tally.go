package chaos

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// tally counts what the clients see. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex
	t  Clients
	// exchanges are how long the exchanges took that ended with a 202, requests
	// the same from the first try to the 202.
	exchanges, requests []time.Duration
}

// Clients is what the clients have seen.
type Clients struct {
	Sent       int `json:"sent"`       // requests, however often they were tried
	Accepted   int `json:"accepted"`   // answered 202
	Refused    int `json:"refused"`    // answered 4xx for good
	Unanswered int `json:"unanswered"` // nobody can tell whether they were taken
	GivenUp    int `json:"givenUp"`    // not answered for good until the end
	Unsure     int `json:"unsure"`     // answers 503 that the request may have been taken
	// Answers are all answers by their status, "none" for none.
	Answers map[string]int `json:"answers"`
	// The times of one exchange that ended with a 202, and from the first try
	// to the 202.
	ExchangeP50 time.Duration `json:"exchangeP50Nanoseconds"`
	ExchangeP99 time.Duration `json:"exchangeP99Nanoseconds"`
	RequestP50  time.Duration `json:"requestP50Nanoseconds"`
	RequestP99  time.Duration `json:"requestP99Nanoseconds"`
}

func newTally() *tally { return &tally{t: Clients{Answers: map[string]int{}}} }

// exchange counts one exchange of requests, or of changes.
func (t *tally) exchange(e workload.Exchange) {
	if e.Method == http.MethodGet {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Status == 0 {
		t.t.Answers["none"]++
		return
	}
	t.t.Answers[strconv.Itoa(e.Status)]++
	if e.Unsure {
		t.t.Unsure++
	}
	if e.Status == http.StatusAccepted {
		t.exchanges = append(t.exchanges, e.Took)
	}
}

// request counts a request by how it ended.
func (t *tally) request(end ending, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t.Sent++
	switch end {
	case wasAccepted:
		t.t.Accepted++
		t.requests = append(t.requests, took)
	case wasRefused:
		t.t.Refused++
	case wasUnanswered:
		t.t.Unanswered++
	case wasGivenUp:
		t.t.GivenUp++
	}
}

// clients returns the counts so far.
func (t *tally) clients() Clients {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.t
	c.Answers = maps.Clone(c.Answers)
	c.ExchangeP50, _, c.ExchangeP99 = workload.Quantiles(t.exchanges)
	c.RequestP50, _, c.RequestP99 = workload.Quantiles(t.requests)
	return c
}
