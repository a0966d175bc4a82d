package workload

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Prepare makes the calls that must have been made before the first request, of
// which each may be made again. o says where the app serves its backends.
func Prepare(ctx context.Context, o ClientOptions, calls []trial.Call) error {
	o.Connections = 8
	api := NewClient(o)
	defer api.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, call := range calls {
		group.Go(func() error { return api.Call(ctx, call) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("prepare for the requests: %w", err)
	}
	return nil
}

// Call makes a call of a trial, and repeats it until it is answered for good.
func (c *Client) Call(ctx context.Context, call trial.Call) error {
	return c.repeat(ctx, call.Method, "/api/"+call.Path, "", call.Body, nil)
}
