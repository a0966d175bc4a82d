package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// meanwhilePause is between two of the calls that are made beside the requests.
const meanwhilePause = 250 * time.Millisecond

// callMeanwhile makes the trial's calls beside the requests, so that the backends
// that the workflow only reads write as well while everything breaks. It ends with
// ctx.
func callMeanwhile(ctx context.Context, o workload.ClientOptions, nth func(n int) trial.Call) error {
	if nth == nil {
		return nil
	}
	client := workload.NewClient(o)
	defer client.Close()
	for n := 0; wait(ctx, meanwhilePause); n++ {
		if err := client.Call(ctx, nth(n)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("call beside the requests: %w", err)
		}
	}
	return nil
}
