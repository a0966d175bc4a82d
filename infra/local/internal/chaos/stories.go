package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// runs is about how long a transaction runs under faults: acts after less than
// that meet it on its way.
const runs = 3 * time.Second

// pickedUp is how long after its completion a package that can be picked up at
// once has been, with the flights of the profile chaos.
const pickedUp = 2 * time.Second

// stories are what clients do about a delivery of theirs.
var stories = []func(*sending, *rand.Rand){
	func(s *sending, r *rand.Rand) { s.own(); s.cancel(beside, upTo(r, 50*time.Millisecond)) },
	func(s *sending, r *rand.Rand) { s.own(); s.move(r, beside, upTo(r, 50*time.Millisecond)) },
	func(s *sending, _ *rand.Rand) { s.cancel(accepted, 0) },
	func(s *sending, r *rand.Rand) { s.move(r, accepted, 0) },
	func(s *sending, r *rand.Rand) { s.cancel(accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.move(r, accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.cancel(completed, upTo(r, time.Second)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.move(r, completed, upTo(r, time.Second)) },
	func(s *sending, _ *rand.Rand) { s.cancel(completed, pickedUp) },
	func(s *sending, r *rand.Rand) { s.move(r, completed, pickedUp) },
	// Around the pickup itself.
	func(s *sending, r *rand.Rand) { s.cancel(completed, upTo(r, pickedUp)) },
	// Without a key, which no client can repeat, but the host may.
	func(s *sending, r *rand.Rand) { s.later(r); s.cancelOnce(accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.cancelOnce(completed, upTo(r, runs)) },
	// Twice, under one key and under two.
	func(s *sending, r *rand.Rand) { s.later(r); s.cancel(accepted, upTo(r, runs)); s.Acts[0].Twice = true },
	func(s *sending, r *rand.Rand) {
		s.later(r)
		s.move(r, accepted, upTo(r, runs))
		s.Acts[0].Twice = true
	},
	func(s *sending, r *rand.Rand) {
		s.later(r)
		at := upTo(r, runs)
		s.cancel(accepted, at)
		s.cancel(accepted, at)
	},
	func(s *sending, r *rand.Rand) {
		s.later(r)
		at := upTo(r, runs)
		s.move(r, accepted, at)
		s.move(r, accepted, at)
	},
	// Both.
	func(s *sending, r *rand.Rand) {
		s.later(r)
		at := upTo(r, runs)
		s.move(r, accepted, at)
		s.cancel(accepted, at)
	},
	func(s *sending, r *rand.Rand) {
		s.later(r)
		s.move(r, completed, 0)
		s.cancel(completed, upTo(r, runs))
	},
	// Across the distance from which on a carrier is needed.
	func(s *sending, r *rand.Rand) {
		s.later(r)
		s.move(r, accepted, upTo(r, runs))
		s.Acts[0].Change.DropOff.Latitude = s.Request.Pickup.Latitude + 1
	},
}

// own makes the request one under the client's own id: only then can anything
// be asked before it was answered.
func (s *sending) own() {
	if s.ID == "" {
		s.ID, s.Key = "delivery-"+s.Request.PackageInfo.PackageID, ""
	}
}

// later puts the pickup off, so that the package is still there when its client
// changes his mind. With the time scale of the flights these hours are seconds.
func (s *sending) later(r *rand.Rand) {
	s.Request.PickupTime = s.Request.PickupTime.Add(time.Hour + upTo(r, 3*time.Hour)).Truncate(time.Second)
}

func (s *sending) cancel(when moment, after time.Duration) {
	s.Acts = append(s.Acts, act{Kind: workflow.OperationCancel, When: when, After: after})
}

func (s *sending) move(r *rand.Rand, when moment, after time.Duration) {
	s.Acts = append(s.Acts, act{
		Kind: workflow.OperationReschedule, When: when, After: after,
		Change: workload.Change{DropOff: workload.Near(r, s.Request.Pickup, 0.1)},
	})
}

func (s *sending) cancelOnce(when moment, after time.Duration) {
	s.cancel(when, after)
	s.Acts[len(s.Acts)-1].Once = true
}

// A crowd asks for far more than a transaction has room for, at once.
const (
	crowdMoves     = 120
	crowdCancels   = 4
	crowdStrangers = 4
)

// crowd has many ask for changes of one transaction at once, then some for its
// end, and some err in the id.
func (s *sending) crowd(r *rand.Rand) {
	s.own() // a request that is repeated until it is accepted
	s.later(r)
	at := upTo(r, runs)
	for range crowdMoves {
		s.move(r, accepted, at)
	}
	for range crowdStrangers {
		s.move(r, accepted, at)
		s.Acts[len(s.Acts)-1].Stranger = "nobody-" + s.name()
	}
	for range crowdCancels {
		s.cancelOnce(accepted, at+upTo(r, time.Second))
	}
}

// The story of a pickup at its moment: the request is sent leadTime before the
// drones' backend goes away, so that its drone is assigned then, and the pickup
// comes while the backend is away.
const (
	leadTime   = 6 * time.Second
	pickupTime = leadTime + shortOutage/2 // on average
	// flightScale is that of the profile chaos: so much shorter are its waits.
	flightScale = 0.002
)

// pickedUpMeanwhile has the client change his mind while the drones' backend is
// away, before the pickup that comes meanwhile: what undoes the drone arrives
// after it.
func (s *sending) pickedUpMeanwhile(r *rand.Rand, start time.Time, away time.Duration) {
	s.At = max(0, away-leadTime+upTo(r, time.Second))
	wait := pickupTime - shortOutage/4 + upTo(r, shortOutage/2)
	s.Request.PickupTime = start.Add(s.At + time.Duration(float64(wait)/flightScale)).UTC().Truncate(time.Second)
	after := away - s.At + upTo(r, time.Second)
	if r.IntN(3) == 0 {
		s.move(r, accepted, after)
		return
	}
	s.cancel(accepted, after)
}

// refusedUndo gives the request an id whose undo a fault refuses for good; what it
// asks for has to be undone.
func (s *sending) refusedUndo(refused func(transactionID string) bool) {
	s.own()
	for n := range 100_000 {
		if id := fmt.Sprintf("%s-%d", s.ID, n); refused(id) {
			s.ID = id
			return
		}
	}
}
