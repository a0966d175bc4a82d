package workload

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/sync/errgroup"
)

// Seed creates the sample accounts owner-1 to owner-100, of which owner-13 is
// suspended. Creating them again changes nothing.
func Seed(ctx context.Context, url string) error {
	api := NewClient(ClientOptions{URL: url, Connections: 8})
	defer api.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for n := 1; n <= sampleAccounts; n++ {
		group.Go(func() error {
			status := "active"
			if n == suspendedSample {
				status = "suspended"
			}
			return api.PutAccount(ctx, fmt.Sprintf("owner-%d", n), fmt.Sprintf("Sample owner %d", n), status)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("create the sample accounts: %w", err)
	}
	return nil
}

// PutAccount creates an account, or changes it. status is active or suspended.
func (c *Client) PutAccount(ctx context.Context, id, name, status string) error {
	body := map[string]string{"name": name, "status": status}
	return c.repeat(ctx, http.MethodPut, "/api/account/"+url.PathEscape(id), "", body, nil)
}
