package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// runs is about how long a transaction runs under faults: acts after less than
// that meet it on its way.
const runs = 3 * time.Second

// pickedUp is how long after its completion the world has done what it is to do at
// once.
const pickedUp = 2 * time.Second

// stories are what clients do about a transaction of theirs.
var stories = []func(*sending, *rand.Rand){
	func(s *sending, r *rand.Rand) { s.own(); s.cancel(beside, upTo(r, 50*time.Millisecond)) },
	func(s *sending, r *rand.Rand) { s.own(); s.move(beside, upTo(r, 50*time.Millisecond)) },
	func(s *sending, _ *rand.Rand) { s.cancel(accepted, 0) },
	func(s *sending, _ *rand.Rand) { s.move(accepted, 0) },
	func(s *sending, r *rand.Rand) { s.cancel(accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.move(accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.cancel(completed, upTo(r, time.Second)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.move(completed, upTo(r, time.Second)) },
	func(s *sending, _ *rand.Rand) { s.cancel(completed, pickedUp) },
	func(s *sending, _ *rand.Rand) { s.move(completed, pickedUp) },
	// Around the pickup itself.
	func(s *sending, r *rand.Rand) { s.cancel(completed, upTo(r, pickedUp)) },
	// Without a key, which no client can repeat, but the host may.
	func(s *sending, r *rand.Rand) { s.later(r); s.cancelOnce(accepted, upTo(r, runs)) },
	func(s *sending, r *rand.Rand) { s.later(r); s.cancelOnce(completed, upTo(r, runs)) },
	// Twice, under one key and under two.
	func(s *sending, r *rand.Rand) { s.later(r); s.cancel(accepted, upTo(r, runs)); s.Acts[0].Twice = true },
	func(s *sending, r *rand.Rand) {
		s.later(r)
		s.move(accepted, upTo(r, runs))
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
		s.move(accepted, at)
		s.move(accepted, at)
	},
	// Both.
	func(s *sending, r *rand.Rand) {
		s.later(r)
		at := upTo(r, runs)
		s.move(accepted, at)
		s.cancel(accepted, at)
	},
	func(s *sending, r *rand.Rand) {
		s.later(r)
		s.move(completed, 0)
		s.cancel(completed, upTo(r, runs))
	},
}

// own makes the request one under the client's own id: only then can anything
// be asked before it was answered.
func (s *sending) own() { s.ID, s.Key = "sample-"+s.Name, "" }

// How long later puts off.
const (
	leastLater  = 7 * time.Second
	spreadLater = 22 * time.Second
)

// later puts off what the world makes final, so that the client may still change his
// mind.
func (s *sending) later(r *rand.Rand) { s.Wait = leastLater + upTo(r, spreadLater) }

func (s *sending) cancel(when moment, after time.Duration) {
	s.Acts = append(s.Acts, act{Kind: workflow.OperationCancel, When: when, After: after})
}

func (s *sending) move(when moment, after time.Duration) {
	s.Acts = append(s.Acts, act{Kind: workflow.OperationReschedule, When: when, After: after})
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
		s.move(accepted, at)
	}
	for range crowdStrangers {
		s.move(accepted, at)
		s.Acts[len(s.Acts)-1].Stranger = "nobody-" + s.Name
	}
	for range crowdCancels {
		s.cancelOnce(accepted, at+upTo(r, time.Second))
	}
}

// The story of what the world makes final at its moment: the request is sent leadTime
// before the backend of that step goes away, so that its effect is there then, and the
// world does its part while the backend is away.
const (
	leadTime  = 6 * time.Second
	finalTime = leadTime + shortOutage/2 // on average
)

// finalMeanwhile has the client change his mind while a backend is away, before the
// world does its part meanwhile: what undoes the effect arrives after it.
func (s *sending) finalMeanwhile(r *rand.Rand, away time.Duration) {
	s.At = max(0, away-leadTime+upTo(r, time.Second))
	s.Wait = finalTime - shortOutage/4 + upTo(r, shortOutage/2)
	after := away - s.At + upTo(r, time.Second)
	if r.IntN(3) == 0 {
		s.move(accepted, after)
		return
	}
	s.cancel(accepted, after)
}

// rival has the request ask for what another one asks for, at the same moment. Which
// of them gets it is chance.
func (s *sending) rival(other *sending, or []workflow.State) {
	s.As, s.At = other.Name, other.At
	s.Or, other.Or = or, or
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
