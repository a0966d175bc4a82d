package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// accountPause is between two changes of accounts.
const accountPause = 250 * time.Millisecond

// openAccounts opens accounts and suspends them again, so that the backend of
// the accounts writes as well while everything breaks. No delivery is for them.
// It ends with ctx.
func openAccounts(ctx context.Context, url string) error {
	client := workload.NewClient(workload.ClientOptions{URL: url, Connections: 1})
	defer client.Close()
	for n := 0; wait(ctx, accountPause); n++ {
		status := "active"
		if n%2 == 1 {
			status = "suspended"
		}
		id := fmt.Sprintf("passer-by-%d", n/2)
		if err := client.PutAccount(ctx, id, "Passer-by", status); err != nil && ctx.Err() == nil {
			return fmt.Errorf("open account %s: %w", id, err)
		}
	}
	return nil
}
