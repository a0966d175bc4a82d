package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
)

// poison is what nobody can read, and when and where it is put.
type poison struct {
	at    time.Duration // since the start
	queue string        // "" is the hub
	body  []byte
}

// poisonEvery is of how many requests one poison comes.
const poisonEvery = 100

// poisonPlaces are where a faulty producer may put it: on the hub, and past it into
// the queues whose functions read envelopes.
var poisonPlaces = []string{"", queues[0], queues[1]}

// poisonForms are what makes it unreadable.
var poisonForms = []string{
	"\xffno JSON at all, %s",
	`{"schema":1,"operation":"start","operationId":"o","transactionId":"no/id/%s"}`,
	`{"schema":1,"operation":"explode","operationId":"o","transactionId":"poison-%s"}`,
}

// planPoison returns all poison in the order of its moments. Each form comes to each
// place.
func planPoison(seed uint64, requests int, duration time.Duration) []poison {
	random := rand.New(rand.NewPCG(seed, 0x706f69736f6e))
	all := make([]poison, max(len(poisonForms), requests/poisonEvery))
	for i := range all {
		name := fmt.Sprintf("%d-%d", seed, i+1)
		all[i] = poison{
			at:    upTo(random, time.Duration(sendingPart*float64(duration))),
			queue: poisonPlaces[(i+i/len(poisonForms))%len(poisonPlaces)],
			body:  fmt.Appendf(nil, poisonForms[i%len(poisonForms)], name),
		}
	}
	slices.SortFunc(all, func(a, b poison) int { return int(a.at - b.at) })
	return all
}

// spread puts all poison where it is to go, each at its moment and again until that
// is acknowledged: some may be on the hub twice.
func spread(ctx context.Context, all []poison, put func(context.Context, poison) error) error {
	begun := time.Now()
	for _, p := range all {
		if !wait(ctx, p.at-time.Since(begun)) {
			return ctx.Err()
		}
		for {
			err := put(ctx, p)
			if err == nil {
				break
			}
			if !wait(ctx, time.Second) {
				return fmt.Errorf("put poison on the hub and into queues: %w", err)
			}
		}
	}
	return nil
}

// hashes are what the checker knows it by.
func hashes(all []poison) []string {
	sums := make([]string, len(all))
	for i, p := range all {
		sums[i] = invariant.BodyHash(p.body)
	}
	return sums
}
