package chaos

import (
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
