package system

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// followPause is how often a further instance looks for a change of the plan.
const followPause = time.Second

// FollowFaults keeps an injector under the plan that the admin endpoint of
// another process serves, and tells it what has happened here, until ctx ends.
// As long as the endpoint doesn't answer, the plan stays.
func FollowFaults(ctx context.Context, in *fault.Injector, url string, log *slog.Logger) {
	f := newFollower(in, url, log)
	defer f.client.CloseIdleConnections()
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		f.round(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

type follower struct {
	in     *fault.Injector
	url    string
	client *http.Client
	log    *slog.Logger
	told   map[fault.Point]fault.Count
}

func newFollower(in *fault.Injector, url string, log *slog.Logger) *follower {
	return &follower{
		in: in, url: url, log: log, told: map[fault.Point]fault.Count{},
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}},
	}
}

func (f *follower) round(ctx context.Context) {
	err := f.look(ctx)
	if err == nil {
		err = f.tell(ctx)
	}
	if err != nil && ctx.Err() == nil {
		f.log.Debug("follow the plan of faults", "from", f.url, "error", err)
	}
}

// look puts the other's plan in force if it is another than before.
func (f *follower) look(ctx context.Context) error {
	body, err := f.do(ctx, http.MethodGet, "/faults", nil)
	if err != nil {
		return err
	}
	var report struct{ Plan fault.Plan }
	if err := json.Unmarshal(body, &report); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if now := f.in.Plan(); now.Empty() && report.Plan.Empty() || reflect.DeepEqual(now, report.Plan) {
		return nil
	}
	return f.in.Set(report.Plan)
}

// tell sends what has happened since it was last told.
func (f *follower) tell(ctx context.Context) error {
	counts := f.in.Counts()
	news := map[fault.Point]fault.Count{}
	for p, c := range counts {
		before := f.told[p]
		if c != before {
			news[p] = fault.Count{Asked: c.Asked - before.Asked, Hit: c.Hit - before.Hit}
		}
	}
	if len(news) == 0 {
		return nil
	}
	body, err := json.Marshal(news)
	if err != nil {
		return err
	}
	if _, err := f.do(ctx, http.MethodPost, countsPath, body); err != nil {
		return err
	}
	f.told = counts
	return nil
}

func (f *follower) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return answer, nil
}
