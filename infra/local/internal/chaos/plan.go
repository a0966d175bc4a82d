package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// sending is one planned request with all that its client does about it.
type sending struct {
	workload.Item
	At time.Duration // since the start
	// Wait is how long after that the world is to do what can't be undone.
	Wait time.Duration
	// As is whose name it is drawn with, in place of its own: that request, sent at the
	// same moment, wants the same. Or are the states in which one of the two may end for
	// that, besides its kind's.
	As string
	Or []workflow.State
	// Twice is true if the client sends the request a second time while the
	// first is on its way, under the same id or key.
	Twice bool
	// Caller is who sends it, "" where nobody is told apart. Again is how long after it
	// was accepted the caller sends it once more; 0 for never.
	Caller string
	Again  time.Duration
	// Leaves is how long after sending it the client goes away, whether or not it has
	// its answer; 0 for one that stays.
	Leaves time.Duration
	Acts   []act
}

// malformed reports whether the request is to be refused.
func (s *sending) malformed() bool { return s.Kind.End == "" }

// act is an operation that the client asks for.
type act struct {
	Kind   workflow.OperationKind // reschedule or cancel
	Key    string                 // the Idempotency-Key
	Change json.RawMessage        // of a reschedule
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

// MinRequests is the smallest plan that has every kind.
const MinRequests = 20

// The rest of the mixture.
const (
	actedEvery   = 4 // one of so many requests is changed or cancelled
	twicePercent = 8 // of the requests are sent a second time while the first is on its way
	// leavesPercent of the requests without an id or key have a client that is gone
	// within leavesWithin: it never learns what became of them.
	leavesPercent = 15
	leavesWithin  = 40 * time.Millisecond
	// spikePercent of the requests come all at one moment.
	spikePercent = 15
	// Of so many requests one has a crowd, one a pickup at its moment (four at
	// least), one an undo that is refused (one at least), one a rival.
	crowdEvery, pickupEvery, refusedEvery, rivalEvery = 750, 150, 250, 30
	// encoreShare is how much is sent in an encore, beside the plan's own rate.
	encoreShare = 0.3
	// sendingPart is the share of the time in which requests begin; the rest is
	// for what their clients do later.
	sendingPart = 0.85
)

// mixture says what is to be sent.
type mixture struct {
	trial    trial.Trial
	seed     uint64
	name     string // tells the ids of one mixture from those of others
	requests int
	// from and until are when requests begin, since the start.
	from, until time.Duration
	start       time.Time
	// away are the moments since the start from which on a backend is away whose
	// effects the world makes final.
	away []time.Duration
	// refused tells of which transactions a fault refuses the undo; nil: of none.
	refused func(transactionID string) bool
	// again is how much later some are sent again at most, where callers are told
	// apart; 0 where they aren't.
	again time.Duration
}

// mixture is the plan's own, for a run that begins at start with these bursts.
func (c Config) mixture(start time.Time, bursts []fault.Burst) mixture {
	m := mixture{
		trial: c.Trial, seed: c.Seed, name: fmt.Sprint(c.Seed), requests: c.Requests,
		until: time.Duration(sendingPart * float64(c.Duration)), start: start,
	}
	if c.sharded() {
		m.again = c.Duration / 2
	}
	for _, b := range bursts {
		if b.Point == fault.BackendAway && slices.Contains(c.pivots(), b.Scope) {
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
	m.requests = max(MinRequests, int(float64(c.Requests)*encoreShare*c.encoreTime().Seconds()/c.Duration.Seconds()))
	return m
}

// plan returns what is to be sent, in the order of the moments. The same mixture
// gives the same plan, one without a time an empty one. The error is the trial's
// fault.
func (m mixture) plan() ([]sending, error) {
	if m.from == m.until {
		return nil, nil
	}
	random := rand.New(rand.NewPCG(m.seed, 0x6368616f73))
	kinds := workload.Kinds(m.trial, m.requests, random)
	spike := m.from + upTo(random, m.until-m.from)
	all := make([]sending, len(kinds))
	acted := 0
	for i, kind := range kinds {
		s := sending{Item: workload.Item{Kind: kind, Name: fmt.Sprintf("%s-%06d", m.name, i+1)}, At: m.from + upTo(random, m.until-m.from)}
		if random.IntN(100) < spikePercent {
			s.At = spike
		}
		s.choose(random)
		if m.again > 0 {
			s.Caller = callerOf(i)
		}
		if !s.malformed() && s.Leaves == 0 && i%actedEvery == 0 {
			stories[acted%len(stories)](&s, random)
			acted++
		} else if m.again > 0 && !s.malformed() && s.ID+s.Key != "" && i%2 == 1 {
			s.Again = 1 + upTo(random, m.again)
		}
		all[i] = s
	}
	m.stage(all, random)
	for i := range all {
		if err := all[i].draw(m, random); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b sending) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// draw draws what the request and its changes ask for, when all else is known.
func (s *sending) draw(m mixture, random *rand.Rand) error {
	d := trial.Draw{Random: random, Name: cmp.Or(s.As, s.Name), At: m.start.Add(s.At), Wait: s.Wait}
	if err := s.Item.Draw(m.trial, d); err != nil {
		return err
	}
	if m.trial.Change == nil {
		s.Acts = slices.DeleteFunc(s.Acts, func(a act) bool { return a.Kind == workflow.OperationReschedule })
	}
	for n := range s.Acts {
		a := &s.Acts[n]
		if !a.Once {
			a.Key = fmt.Sprintf("%s-%s-%d", a.Kind, s.Name, n+1)
		}
		if a.Kind == workflow.OperationReschedule {
			var err error
			if a.Change, err = workload.DrawChange(m.trial, d, s.Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage gives the stories that need their moment, or an id of their own, to
// requests that have none: a crowd for each crowdEvery, some for which the world
// does its part while the backend that began it is away, some that can't be undone,
// and pairs that want the same.
func (m mixture) stage(all []sending, random *rand.Rand) {
	free := map[string][]*sending{} // by kind
	for i := range all {
		if s := &all[i]; len(s.Acts) == 0 && s.Leaves == 0 && s.Again == 0 {
			free[s.Kind.Name] = append(free[s.Kind.Name], s)
		}
	}
	take := func(kind string, n int) []*sending {
		n = min(n, len(free[kind]))
		taken := free[kind][:n]
		free[kind] = free[kind][n:]
		return taken
	}
	usual := workload.Usual(m.trial).Name
	for _, s := range take(usual, m.requests/crowdEvery) {
		s.At = m.from + upTo(random, (m.until-m.from)/2) // so that all of it comes in time
		s.crowd(random)
	}
	for _, away := range m.away {
		for _, s := range take(usual, max(4, m.requests/pickupEvery)) {
			s.finalMeanwhile(random, away)
		}
	}
	for _, k := range m.trial.Kinds {
		if m.refused != nil && k.End == workflow.Compensated {
			for _, s := range take(k.Name, max(1, m.requests/refusedEvery)) {
				s.refusedUndo(m.refused)
			}
		}
	}
	if m.trial.Rivals == nil {
		return
	}
	for pair := take(usual, m.requests/rivalEvery*2); len(pair) > 1; pair = pair[2:] {
		pair[1].rival(pair[0], m.trial.Rivals)
	}
}

// choose draws how the request is sent: under the client's own id, with an
// idempotency key, or with neither. One that is sent twice needs one of them.
func (s *sending) choose(random *rand.Rand) {
	way := random.IntN(5)
	if !s.malformed() && random.IntN(100) < twicePercent {
		s.Twice, way = true, random.IntN(3)
	}
	switch way {
	case 0, 1:
		s.own()
	case 2:
		s.Key = "key-" + s.Name
	default:
		if !s.malformed() && random.IntN(100) < leavesPercent {
			s.Leaves = 1 + upTo(random, leavesWithin)
		}
	}
}

// upTo draws a time below limit.
func upTo(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(limit)))
}
