package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
)

// poison is an event that nobody can read, and when it is put on the hub.
type poison struct {
	at   time.Duration // since the start
	body []byte
}

// poisonEvery is of how many deliveries one poison event comes.
const poisonEvery = 100

// poisonForms are what makes an event unreadable.
var poisonForms = []string{
	"\xffno JSON at all, %s",
	`{"schema":1,"operation":"start","operationId":"o","transactionId":"no/id/%s"}`,
	`{"schema":1,"operation":"explode","operationId":"o","transactionId":"poison-%s"}`,
}

// planPoison returns the events in the order of their moments.
func planPoison(seed uint64, deliveries int, duration time.Duration) []poison {
	random := rand.New(rand.NewPCG(seed, 0x706f69736f6e))
	all := make([]poison, max(len(poisonForms), deliveries/poisonEvery))
	for i := range all {
		name := fmt.Sprintf("%d-%d", seed, i+1)
		all[i] = poison{
			at:   upTo(random, time.Duration(sendingPart*float64(duration))),
			body: fmt.Appendf(nil, poisonForms[i%len(poisonForms)], name),
		}
	}
	slices.SortFunc(all, func(a, b poison) int { return int(a.at - b.at) })
	return all
}

// spread puts the events on the hub, each at its moment and again until the hub
// has acknowledged it: some may be there twice.
func spread(ctx context.Context, all []poison, put func(context.Context, []byte) error) error {
	begun := time.Now()
	for _, p := range all {
		if !wait(ctx, p.at-time.Since(begun)) {
			return ctx.Err()
		}
		for {
			err := put(ctx, p.body)
			if err == nil {
				break
			}
			if !wait(ctx, time.Second) {
				return fmt.Errorf("put poison on the hub: %w", err)
			}
		}
	}
	return nil
}

// hashes are what the checker knows the events by.
func hashes(all []poison) []string {
	sums := make([]string, len(all))
	for i, p := range all {
		sums[i] = invariant.BodyHash(p.body)
	}
	return sums
}
