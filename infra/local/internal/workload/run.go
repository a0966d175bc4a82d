package workload

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Config says what to send where.
type Config struct {
	URL         string // of the app, such as http://127.0.0.1:7071
	Resource    string // the business's
	Items       []Item
	Concurrency int // requests at once; 0 means 32
	// Poison puts one unreadable event on the hub, past the ingestion.
	Poison func(context.Context) error
	// Quarantined counts what is in the quarantine.
	Quarantined func(context.Context) (int, error)
}

// Tally counts a run while it goes on. It is safe for concurrent use.
type Tally struct {
	Sent, Accepted, Final atomic.Int64
}

// request is one planned item and what became of it.
type request struct {
	Item
	sent      time.Time
	receipt   Receipt
	repeat    *Receipt // the answer to the second send
	operation Receipt  // of the cancel or reschedule
	err       error    // why it was not accepted
	last      View     // as last read
}

// Run sends the items, waits until each accepted one has reached a final state
// and its operations have ended, and returns the summary. An error means that
// the run could not be carried out; what went wrong with requests is in the
// summary.
func Run(ctx context.Context, c Config, tally *Tally) (*Summary, error) {
	if c.Concurrency == 0 {
		c.Concurrency = 32
	}
	api := NewClient(ClientOptions{URL: c.URL, Resource: c.Resource, Connections: c.Concurrency})
	defer api.Close()
	started := time.Now()

	requests := make([]*request, len(c.Items))
	for i := range c.Items {
		requests[i] = &request{Item: c.Items[i]}
	}
	kept, err := c.Quarantined(ctx) // by earlier runs on the same data
	if err != nil {
		return nil, fmt.Errorf("count the quarantine: %w", err)
	}
	if err := c.Poison(ctx); err != nil {
		return nil, fmt.Errorf("put the poison event on the hub: %w", err)
	}
	if err := sendAll(ctx, api, c.Concurrency, requests, tally); err != nil {
		return nil, err
	}
	accepted := time.Since(started)
	if err := follow(ctx, api, c.Concurrency, requests, tally); err != nil {
		return nil, err
	}
	s := summarize(requests)
	s.Accepting, s.Total = accepted, time.Since(started)
	return s, countQuarantine(ctx, c, s, kept)
}

func sendAll(ctx context.Context, api *Client, concurrency int, requests []*request, tally *Tally) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, r := range requests {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			r.send(ctx, api)
			tally.Sent.Add(1)
			if r.err == nil {
				tally.Accepted.Add(1)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// send makes all the requests that belong to one item.
func (r *request) send(ctx context.Context, api *Client) {
	r.sent = time.Now()
	if r.receipt, r.err = api.Submit(ctx, r.Item); r.err != nil {
		return
	}
	if r.Twice {
		var again Receipt
		if again, r.err = api.Submit(ctx, r.Item); r.err == nil {
			r.repeat = &again
		}
	}
	switch r.Then {
	case workflow.OperationCancel:
		r.operation, r.err = api.Cancel(ctx, r.receipt.TransactionID, r.OperationKey)
	case workflow.OperationReschedule:
		r.operation, r.err = api.Reschedule(ctx, r.receipt.TransactionID, r.OperationKey, r.Change)
	}
	if r.Racing && r.Then != "" && Status(r.err) == http.StatusConflict { // told at once that it is too late
		r.err = nil
	}
}

// follow reads every accepted request until it has ended.
func follow(ctx context.Context, api *Client, concurrency int, requests []*request, tally *Tally) error {
	var open []*request
	for _, r := range requests {
		if r.receipt.TransactionID != "" {
			open = append(open, r)
		}
	}
	for pause := 50 * time.Millisecond; len(open) > 0; pause = min(2*pause, time.Second) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%d requests are still open, such as %s in state %s: %w",
				len(open), open[0].receipt.TransactionID, open[0].last.State, ctx.Err())
		}
		var mu sync.Mutex
		var still []*request
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(concurrency)
		for _, r := range open {
			group.Go(func() error {
				ended, err := r.look(groupCtx, api)
				if err != nil {
					return err
				}
				if ended {
					tally.Final.Add(1)
					return nil
				}
				mu.Lock()
				still = append(still, r)
				mu.Unlock()
				return nil
			})
		}
		if err := group.Wait(); err != nil && ctx.Err() == nil {
			return err
		}
		open = still
	}
	return nil
}

// look reads the request once and reports whether nothing more will happen.
func (r *request) look(ctx context.Context, api *Client) (bool, error) {
	v, err := api.Progress(ctx, r.receipt.TransactionID)
	if err != nil {
		return false, err
	}
	r.last = v
	return v.Ended(r.operation.OperationID), nil
}

// Ended reports whether nothing more will happen: the state is final, and every
// operation has ended, also those with the given ids, which may not have reached
// the transaction yet ("" is none).
func (v View) Ended(operationIDs ...string) bool {
	switch v.State {
	case "Completed", "Rejected", "Compensated", "Cancelled", "GivenUp":
	default:
		return false
	}
	known := map[string]bool{"": true}
	for _, o := range v.Operations {
		if o.State == "Pending" {
			return false
		}
		known[o.ID] = true
	}
	return !slices.ContainsFunc(operationIDs, func(id string) bool { return !known[id] })
}

// countQuarantine waits for the poison event to arrive in the quarantine: it
// travels beside the requests, not before them. kept is what was there before.
func countQuarantine(ctx context.Context, c Config, s *Summary, kept int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		n, err := c.Quarantined(ctx)
		if err != nil {
			return fmt.Errorf("count the quarantine: %w", err)
		}
		s.Quarantined = n - kept
		if s.Quarantined > 0 {
			s.judgeQuarantine()
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			s.judgeQuarantine()
			return nil
		}
	}
}
