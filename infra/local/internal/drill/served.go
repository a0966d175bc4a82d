package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Served is a system that serve runs.
type Served struct {
	// Faults is the URL at which the plan of faults is.
	Faults string
	Apps   *ops.Apps
	// Clients sends requests of these kinds.
	Clients *workload.Client
	Kinds   []trial.Kind
	Hub     ingest.Producer
	By      string // the operator
}

var _ System = (*Served)(nil)

// Plan implements System.
func (s *Served) Plan(ctx context.Context) (fault.Plan, error) {
	return s.faults(ctx, http.MethodGet, nil)
}

// Break implements System.
func (s *Served) Break(ctx context.Context, p fault.Plan) error {
	if p.Rates == nil {
		p.Rates = map[fault.Point]float64{}
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = s.faults(ctx, http.MethodPut, body)
	return err
}

// faults asks for the plan in force, or puts another in force.
func (s *Served) faults(ctx context.Context, method string, plan []byte) (fault.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.Faults, bytes.NewReader(plan))
	if err != nil {
		return fault.Plan{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.Plan{}, fmt.Errorf("faults: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return fault.Plan{}, errors.Join(fmt.Errorf("faults: %s %s: status %d: %s", method, s.Faults, resp.StatusCode, body), err)
	}
	var report struct{ Plan fault.Plan }
	if err := json.Unmarshal(body, &report); err != nil {
		return fault.Plan{}, fmt.Errorf("faults: %w", err)
	}
	return report.Plan, nil
}

// Send implements System.
func (s *Served) Send(ctx context.Context, end workflow.State) error {
	i := slices.IndexFunc(s.Kinds, func(k trial.Kind) bool { return k.End == end })
	if i < 0 {
		return fmt.Errorf("the business's trial has no requests that end %s", end)
	}
	name := "drill-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	body, err := json.Marshal(s.Kinds[i].Draw(trial.Draw{Random: rand.New(rand.NewPCG(rand.Uint64(), 0)), Name: name, At: time.Now()}))
	if err != nil {
		return err
	}
	_, err = s.Clients.Submit(ctx, workload.Item{Key: name, Body: body})
	return err
}

// Poison implements System.
func (s *Served) Poison(ctx context.Context) error {
	partitions, err := s.Hub.Partitions(ctx)
	if err != nil {
		return err
	}
	return s.Hub.Send(ctx, partitions[0], []ingest.Event{{TransactionID: "poison", Body: []byte("poison of " + time.Now().Format(time.RFC3339Nano))}})
}

// Unusual implements System. A shard's status that doesn't come is Missing.
func (s *Served) Unusual(ctx context.Context) ([]operate.Unusual, error) {
	list, err := ops.Each(ctx, s.Apps, 0, func(ctx context.Context, at *ops.Client) ([]operate.Status, error) {
		status, err := at.Status(ctx)
		return []operate.Status{status}, err
	})
	if list == nil && err != nil {
		return nil, err
	}
	var all []operate.Unusual
	for _, of := range list {
		all = append(all, of.One.Unusual...)
	}
	if err != nil {
		all = append(all, operate.Unusual{Key: Missing, Says: err.Error() + ".", Do: "Look whether its database is there, and its app.", About: "service-errors", Since: time.Now()})
	}
	return all, nil
}

// Act implements System.
func (s *Served) Act(ctx context.Context, act string, since time.Time) error {
	results, err := ops.Each(ctx, s.Apps, 0, func(ctx context.Context, at *ops.Client) ([]operate.Result, error) {
		ids, err := undecided(ctx, at, act, since)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return at.Acts(ctx, operate.Acts{Act: act, IDs: ids, By: operate.Actor{By: s.By, Why: "a drill"}})
	})
	for _, r := range results {
		if !r.One.Done {
			err = errors.Join(err, fmt.Errorf("%s %s: %s", act, r.One.ID, r.One.Result))
		}
	}
	return err
}

// undecided names what has come since then and waits for such an act.
func undecided(ctx context.Context, at *ops.Client, act string, since time.Time) (ids []string, err error) {
	if act == string(quarantine.ActDrop) {
		entries, _, err := ops.Collect(operate.MaxAtOnce, func(next string) (ops.Page[quarantine.Entry], error) {
			return at.Entries(ctx, "", "", string(quarantine.Kept), next)
		})
		for _, e := range entries {
			if !e.At.Before(since) {
				ids = append(ids, e.Source+"/"+e.ID)
			}
		}
		return ids, err
	}
	list, err := transactions(ctx, at, url.Values{"state": {string(workflow.Stuck)}, "from": {since.UTC().Format(time.RFC3339)}})
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return ids, err
}

// Waiting implements System.
func (s *Served) Waiting(ctx context.Context) ([]operate.Summary, error) {
	list, err := ops.Each(ctx, s.Apps, 0, func(ctx context.Context, at *ops.Client) ([]operate.Summary, error) {
		return transactions(ctx, at, url.Values{"state": {operate.StateOpen}})
	})
	var all []operate.Summary
	for _, t := range list {
		all = append(all, t.One)
	}
	return all, err
}

// transactions are those that pass a filter, as many as one act may name.
func transactions(ctx context.Context, at *ops.Client, filter url.Values) ([]operate.Summary, error) {
	list, _, err := ops.Collect(operate.MaxAtOnce, func(next string) (ops.Page[operate.Summary], error) {
		return at.Transactions(ctx, filter, next)
	})
	return list, err
}
