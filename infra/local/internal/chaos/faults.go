package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// faults sets the faults of the running tree, and sums up over its lives what
// was done. Its methods are for one goroutine.
type faults struct {
	http *http.Client
	// now are the counts of the present life as last read, past those of the
	// lives before. A tree that is killed takes what came after the last look
	// with it.
	now, past map[fault.Point]fault.Count
}

func newFaults() *faults {
	return &faults{
		http: &http.Client{Timeout: 5 * time.Second},
		now:  map[fault.Point]fault.Count{}, past: map[fault.Point]fault.Count{},
	}
}

// setLimit is how long a tree that has no time to answer is asked to take a
// plan.
const setLimit = 30 * time.Second

// set puts a plan in force. admin is the URL of the tree's admin endpoint.
func (f *faults) set(ctx context.Context, admin string, p fault.Plan) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("set the faults: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, setLimit)
	defer cancel()
	for {
		err := f.call(ctx, http.MethodPut, admin, body)
		if err == nil {
			return nil
		}
		if errors.Is(err, errRefused) || !wait(ctx, time.Second) {
			return fmt.Errorf("set the faults: %w", err)
		}
	}
}

// look reads the counts.
func (f *faults) look(ctx context.Context, admin string) error {
	if err := f.call(ctx, http.MethodGet, admin, nil); err != nil {
		return fmt.Errorf("read the faults: %w", err)
	}
	return nil
}

// errRefused is an answer that no repeat will change.
var errRefused = errors.New("refused")

// call makes a call; both have the same answer.
func (f *faults) call(ctx context.Context, method, admin string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, admin+"/faults", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %w: %s: %s", method, req.URL, errRefused, resp.Status, data)
	}
	var answer struct{ Counts map[fault.Point]fault.Count }
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("%s %s: answer %q: %w", method, req.URL, data, err)
	}
	f.now = answer.Counts
	return nil
}

// ended begins a new life, which counts from 0.
func (f *faults) ended() {
	f.past = f.sum()
	f.now = map[fault.Point]fault.Count{}
}

// FaultCount is what happened at a point.
type FaultCount struct {
	Point fault.Point `json:"point"`
	fault.Count
}

// sum returns what was done in all lives.
func (f *faults) sum() map[fault.Point]fault.Count {
	all := maps.Clone(f.past)
	for p, c := range f.now {
		sum := all[p]
		all[p] = fault.Count{Asked: sum.Asked + c.Asked, Hit: sum.Hit + c.Hit}
	}
	return all
}

// counts returns what was done in all lives, in the order of the points.
func (f *faults) counts() []FaultCount {
	sum, counts := f.sum(), []FaultCount{}
	for _, info := range fault.Points {
		if c, counted := sum[info.Point]; counted {
			counts = append(counts, FaultCount{info.Point, c})
		}
	}
	return counts
}
