package baseline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// InFlight is how many transactions a Loop does at once, and how many idle
// connections it keeps.
const InFlight = 256

// Loop is a workflow that keeps nothing: it makes the calls of each transaction one
// after the other, and forgets it. POST /?for=2s has it do so for a time; the
// answer says how many it has done, as {"done": 1234}.
type Loop struct {
	to    string
	steps []string
	body  []byte
	http  *http.Client
}

// NewLoop returns a loop that calls PUT URL/STEP/ID with a body for each step.
func NewLoop(to string, steps []string, body []byte) *Loop {
	return &Loop{to: to, steps: steps, body: body, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: InFlight}}}
}

// Done is the answer to a run.
type Done struct {
	Done int `json:"done"`
}

// ServeHTTP runs for the time that is asked for.
func (l *Loop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lasts, err := time.ParseDuration(r.URL.Query().Get("for"))
	if err != nil || lasts <= 0 || r.Method != http.MethodPost {
		http.Error(w, "POST /?for=2s", http.StatusBadRequest)
		return
	}
	done, err := l.run(r.Context(), lasts)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Nobody to tell when the client has gone.
	_ = json.NewEncoder(w).Encode(Done{done})
}

func (l *Loop) run(ctx context.Context, lasts time.Duration) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(lasts)
	var next, done atomic.Int64
	var running sync.WaitGroup
	for range InFlight {
		running.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				if err := l.transaction(ctx, strconv.FormatInt(next.Add(1), 10)); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	running.Wait()
	return int(done.Load()), context.Cause(ctx)
}

func (l *Loop) transaction(ctx context.Context, id string) error {
	for _, step := range l.steps {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, l.to+"/"+step+"/"+id, bytes.NewReader(l.body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := l.http.Do(req)
		if err != nil {
			return fmt.Errorf("step %s: %w", step, err)
		}
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		resp.Body.Close()
		if err != nil {
			return fmt.Errorf("step %s: %w", step, err)
		}
		var result any
		if resp.StatusCode != http.StatusOK || json.Unmarshal(answer, &result) != nil {
			return fmt.Errorf("step %s: status %d: %s", step, resp.StatusCode, answer)
		}
	}
	return nil
}
