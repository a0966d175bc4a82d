package workload

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// Seed creates the sample accounts owner-1 to owner-100, of which owner-13 is
// suspended. Creating them again changes nothing.
func Seed(ctx context.Context, url string) error {
	api := newClient(url, 8)
	defer api.close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for n := 1; n <= sampleAccounts; n++ {
		group.Go(func() error {
			body := map[string]string{"name": fmt.Sprintf("Sample owner %d", n), "status": "active"}
			if n == suspendedSample {
				body["status"] = "suspended"
			}
			return api.repeat(ctx, true, http.MethodPut, fmt.Sprintf("/api/account/owner-%d", n), "", body, nil)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("create the sample accounts: %w", err)
	}
	return nil
}
