package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
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
	// Once is true for a cancel without a key, which its client can't repeat.
	Once bool
	// Stranger, if it is not "", is the id that is asked for in place of the
	// client's own: one that nobody ever sent.
	Stranger string
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
	// Of so many deliveries one has a crowd, one a pickup at its moment (four at
	// least), one an undo that is refused (one at least).
	crowdEvery, pickupEvery, refusedEvery = 750, 150, 250
	// encoreShare is how much is sent in an encore, beside the plan's own rate.
	encoreShare = 0.3
	// sendingPart is the share of the time in which requests begin; the rest is
	// for what their clients do later.
	sendingPart = 0.85
)

// mixture says what is to be sent.
type mixture struct {
	seed       uint64
	name       string // tells the ids of one mixture from those of others
	deliveries int
	// from and until are when requests begin, since the start.
	from, until time.Duration
	start       time.Time
	// away are the moments since the start from which on the drones' backend
	// is away.
	away []time.Duration
	// refused tells of which transactions a fault refuses the undo; nil: of none.
	refused func(transactionID string) bool
}

// mixture is the plan's own, for a run that begins at start with these bursts.
func (c Config) mixture(start time.Time, bursts []fault.Burst) mixture {
	m := mixture{
		seed: c.Seed, name: fmt.Sprint(c.Seed), deliveries: c.Deliveries,
		until: time.Duration(sendingPart * float64(c.Duration)), start: start,
	}
	for _, b := range bursts {
		if b.Point == fault.BackendAway && b.Scope == dronesBackend {
			m.away = append(m.away, b.From.Sub(start))
		}
	}
	if c.Faults.Rates[fault.BackendUndoRefused] > 0 {
		m.refused = func(id string) bool { return fault.Chosen(c.Faults, fault.BackendUndoRefused, id) }
	}
	return m
}

// encore is what is sent when the time is up and something has still to be seen:
// less than before, so that what was held up gets on as well.
func (c Config) encore(start time.Time) mixture {
	m := c.mixture(start, nil)
	m.name = "encore-" + m.name
	m.from, m.until = c.Duration, c.Duration+c.encoreTime()
	m.deliveries = max(MinDeliveries, int(float64(c.Deliveries)*encoreShare*c.encoreTime().Seconds()/c.Duration.Seconds()))
	return m
}

// plan returns what is to be sent, in the order of the moments. The same mixture
// gives the same plan.
func (m mixture) plan() []sending {
	random := rand.New(rand.NewPCG(m.seed, 0x6368616f73))
	var kinds []workload.Kind
	for _, s := range shares {
		kinds = append(kinds, slices.Repeat([]workload.Kind{s.kind}, max(1, m.deliveries*s.percent/100))...)
	}
	kinds = append(kinds, slices.Repeat([]workload.Kind{workload.Plain}, max(0, m.deliveries-len(kinds)))...)
	kinds = append(kinds, slices.Repeat([]workload.Kind{workload.Malformed}, max(1, m.deliveries*malformedPercent/100))...)
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })

	spike := m.from + upTo(random, m.until-m.from)
	all := make([]sending, len(kinds))
	acted := 0
	for i, kind := range kinds {
		name := fmt.Sprintf("%s-%06d", m.name, i+1)
		s := sending{Item: workload.NewItem(random, kind, name, m.start), At: m.from + upTo(random, m.until-m.from)}
		if random.IntN(100) < spikePercent {
			s.At = spike
		}
		s.choose(random, name)
		if kind != workload.Malformed && i%actedEvery == 0 {
			stories[acted%len(stories)](&s, random)
			acted++
		}
		all[i] = s
	}
	m.stage(all, random)
	for i := range all {
		s := &all[i]
		for n := range s.Acts {
			if a := &s.Acts[n]; !a.Once {
				a.Key = fmt.Sprintf("%s-%s-%d", a.Kind, s.name(), n+1)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sending) int { return cmp.Compare(a.At, b.At) })
	return all
}

// stage gives the stories that need their moment, or an id of their own, to
// deliveries that have none: a crowd for each crowdEvery, some whose pickup comes
// while the drones' backend is away, and some that can't be undone.
func (m mixture) stage(all []sending, random *rand.Rand) {
	free := map[workload.Kind][]*sending{}
	for i := range all {
		if s := &all[i]; len(s.Acts) == 0 {
			free[s.Kind] = append(free[s.Kind], s)
		}
	}
	take := func(kind workload.Kind, n int) []*sending {
		n = min(n, len(free[kind]))
		taken := free[kind][:n]
		free[kind] = free[kind][n:]
		return taken
	}
	for _, s := range take(workload.Plain, m.deliveries/crowdEvery) {
		s.At = m.from + upTo(random, (m.until-m.from)/2) // so that all of it comes in time
		s.crowd(random)
	}
	for _, away := range m.away {
		for _, s := range take(workload.Plain, max(4, m.deliveries/pickupEvery)) {
			s.pickedUpMeanwhile(random, m.start, away)
		}
	}
	if m.refused != nil {
		for _, s := range take(workload.TooHeavy, max(1, m.deliveries/refusedEvery)) {
			s.refusedUndo(m.refused)
		}
	}
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
