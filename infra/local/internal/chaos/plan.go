package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// sending is one planned request with all that its client does about it.
type sending struct {
	workload.Item
	At time.Duration // since the start
	// Twice is true if the client sends the request a second time while the
	// first is on its way, under the same id or key.
	Twice bool
	Acts  []act
}

// act is an operation that the client asks for.
type act struct {
	Kind   workflow.OperationKind // reschedule or cancel
	Key    string                 // the Idempotency-Key
	Change workload.Change        // of a reschedule
	When   moment
	After  time.Duration // that long after the moment
	Twice  bool          // sent a second time at once, under the same key
}

// moment is what an act comes after.
type moment string

// The moments.
const (
	beside    moment = "beside"    // the request is being sent; only with the client's own id
	accepted  moment = "accepted"  // the request was answered 202
	completed moment = "completed" // the transaction was seen to be Completed
)

// shares are how many of a hundred requests are of a kind; the rest is Plain.
// Malformed ones come on top, since they never become deliveries.
var shares = []struct {
	kind    workload.Kind
	percent int
}{
	{workload.Far, 8}, {workload.Suspended, 2}, {workload.Unknown, 2}, {workload.TooHeavy, 5}, {workload.Duplicate, 8},
}

// MinDeliveries is the smallest plan that has every kind.
const MinDeliveries = 20

// The rest of the mixture.
const (
	malformedPercent = 2
	actedEvery       = 4 // one of so many deliveries is changed or cancelled
	// spikePercent of the requests come all at one moment.
	spikePercent = 15
	// sendingPart is the share of the time in which requests begin; the rest is
	// for what their clients do later.
	sendingPart = 0.85
)

// plan returns what is to be sent, in the order of the moments. The same
// arguments give the same plan.
func plan(seed uint64, deliveries int, duration time.Duration, start time.Time) []sending {
	random := rand.New(rand.NewPCG(seed, 0x6368616f73))
	var kinds []workload.Kind
	for _, s := range shares {
		kinds = append(kinds, slices.Repeat([]workload.Kind{s.kind}, max(1, deliveries*s.percent/100))...)
	}
	kinds = append(kinds, slices.Repeat([]workload.Kind{workload.Plain}, max(0, deliveries-len(kinds)))...)
	kinds = append(kinds, slices.Repeat([]workload.Kind{workload.Malformed}, max(1, deliveries*malformedPercent/100))...)
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })

	within := time.Duration(sendingPart * float64(duration))
	spike := upTo(random, within)
	all := make([]sending, len(kinds))
	acted := 0
	for i, kind := range kinds {
		name := fmt.Sprintf("%d-%06d", seed, i+1)
		s := sending{Item: workload.NewItem(random, kind, name, start), At: upTo(random, within)}
		if random.IntN(100) < spikePercent {
			s.At = spike
		}
		s.choose(random, name)
		if kind != workload.Malformed && i%actedEvery == 0 {
			stories[acted%len(stories)](&s, random)
			for n := range s.Acts {
				s.Acts[n].Key = fmt.Sprintf("%s-%s-%d", s.Acts[n].Kind, name, n+1)
			}
			acted++
		}
		all[i] = s
	}
	slices.SortStableFunc(all, func(a, b sending) int { return cmp.Compare(a.At, b.At) })
	return all
}

// choose draws how the request is sent: under the client's own id, with an
// idempotency key, or with neither. A duplicate needs one of them.
func (s *sending) choose(random *rand.Rand, name string) {
	way := random.IntN(5)
	if s.Kind == workload.Duplicate {
		s.Twice, way = true, random.IntN(3)
	}
	s.ID, s.Key = "", ""
	switch way {
	case 0, 1:
		s.ID = "delivery-" + name
	case 2:
		s.Key = "key-" + name
	}
}

// upTo draws a time below limit.
func upTo(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(limit)))
}
