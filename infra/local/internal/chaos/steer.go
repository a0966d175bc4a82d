package chaos

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// situation is how far a storm is.
type situation struct {
	now, begun time.Time
	bounds     []Bound    // with what was seen
	plan       fault.Plan // in force
}

// How a lagging fault is helped.
const (
	patienceShare = 0.1 // of the duration, in which nothing counts as lagging
	paceShare     = 0.6 // of the duration, after which all is to be seen
	boost         = 4   // times the rate
	mostOften     = 0.3 // of a point's opportunities
	mostActs      = 60  // a minute
)

// aids are the faults that bring a sign about: rates to be raised, and bursts.
var aids = map[Sign][]fault.Point{
	Unacknowledged: {fault.EventHubsSendLost},
	GapsFilled:     {fault.HostStopInRetry},
	LeasesLost:     {fault.HandlerFreeze},
	LeasesTaken:    {fault.HandlerKill},
	DeadLetters:    {fault.CosmosPartition},
	Rescued:        {fault.CosmosPartition},
	LateRefused:    {fault.BackendLate},
	UnknownUndone:  {fault.BackendAnswerLost, fault.BackendReset},
	Repeated:       {fault.HandlerKill},
	Recreated:      {fault.EventHubsRecreated},
	Recognized:     {fault.HostOwnership},
}

// steered returns the plan that helps what lags behind its bound: its rate is
// raised, or a burst of it begins, if one is not under way or to come, and if
// there is time for it. What has caught up has its own rate again.
func (c Config) steered(s situation) fault.Plan {
	next := s.plan
	next.Rates = maps.Clone(c.Faults.Rates)
	next.Bursts = slices.DeleteFunc(slices.Clone(s.plan.Bursts), func(b fault.Burst) bool { return s.now.Sub(b.Until()) > time.Minute })
	for _, b := range s.bounds {
		if !c.lags(b, s.now.Sub(s.begun)) {
			continue
		}
		points := aids[b.sign]
		if b.point != "" {
			points = []fault.Point{b.point}
		}
		for _, p := range points {
			c.help(&next, p, s)
		}
	}
	return next
}

// lags reports whether a bound won't be met at the pace so far.
func (c Config) lags(b Bound, elapsed time.Duration) bool {
	share := elapsed.Seconds() / c.Duration.Seconds()
	if share < patienceShare {
		return false
	}
	return float64(b.Seen) < float64(b.Wanted)*min(1, share/paceShare)
}

// help makes a fault more frequent, and lets a burst of it begin if it has any.
// What is refused for good stays as it is: the judgement goes by its rate.
func (c Config) help(plan *fault.Plan, p fault.Point, s situation) {
	if !c.breaks(p) || p == fault.BackendUndoRefused {
		return
	}
	info, _ := fault.Lookup(p)
	rate, most := c.Faults.Rates[p], mostOften
	if info.Act {
		most = mostActs
	}
	if rate > 0 {
		plan.Rates[p] = max(rate, min(most, boost*rate))
	}
	i := slices.IndexFunc(remedies, func(r remedy) bool { return r.point == p })
	coming := slices.ContainsFunc(plan.Bursts, func(b fault.Burst) bool { return b.Point == p && b.Until().After(s.now) })
	if i < 0 || coming || remedies[i].takes(outage(c.Duration)) >= s.left(c) {
		return
	}
	random := rand.New(rand.NewPCG(c.Seed, uint64(s.now.Sub(s.begun))))
	plan.Bursts = append(plan.Bursts, remedies[i].bursts(c, s.now, random)...)
}

// left is how long the storm goes on: when the time is up and something is still
// to be seen, for an encore.
func (s situation) left(c Config) time.Duration {
	end := c.Duration
	if s.now.Sub(s.begun) >= end {
		end += c.encoreTime()
	}
	return end - s.now.Sub(s.begun)
}

// UsualEncore is as long as the longest burst takes, and what it brings about.
const UsualEncore = 75 * time.Second

// encoreTime is how long the storm goes on at most for what is missing when its
// time is up.
func (c Config) encoreTime() time.Duration { return min(c.Encore, c.Duration*5/3) }

// missing returns what is still below its bound and may come yet. How many are
// Completed, and what else is read from what is stored, nobody knows before the
// end.
func missing(bounds []Bound) []Bound {
	return slices.DeleteFunc(slices.Clone(bounds), func(b Bound) bool {
		return b.Met() || b.Name == boundCompleted || b.shard > 0 || slices.Contains([]Sign{Outside, Pickups, Lost, Moves, Pinned, Moved, OldMap}, b.sign)
	})
}
