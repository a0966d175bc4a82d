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
	Unacknowledged: {fault.EventHubsAway},
	GapsFilled:     {fault.HostStopInRetry},
	LeasesLost:     {fault.HandlerFreeze},
	LeasesTaken:    {fault.HandlerKill},
	DeadLetters:    {fault.CosmosPartition},
	Rescued:        {fault.CosmosPartition},
	LateRefused:    {fault.BackendLate},
	UnknownUndone:  {fault.BackendAnswerLost, fault.BackendReset},
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

// help makes a fault more frequent. What is refused for good stays as it is: the
// judgement goes by its rate.
func (c Config) help(plan *fault.Plan, p fault.Point, s situation) {
	info, _ := fault.Lookup(p)
	rate := c.Faults.Rates[p]
	switch {
	case !c.breaks(p) || p == fault.BackendUndoRefused:
	case rate > 0 && info.Act:
		plan.Rates[p] = max(rate, min(mostActs, boost*rate))
	case rate > 0:
		plan.Rates[p] = max(rate, min(mostOften, boost*rate))
	case !slices.ContainsFunc(plan.Bursts, func(b fault.Burst) bool { return b.Point == p && b.Until().After(s.now) }):
		i := slices.IndexFunc(remedies, func(r remedy) bool { return r.point == p })
		left := c.Duration - s.now.Sub(s.begun)
		if i >= 0 && remedies[i].takes(outage(c.Duration)) < left {
			random := rand.New(rand.NewPCG(c.Seed, uint64(s.now.Sub(s.begun))))
			plan.Bursts = append(plan.Bursts, remedies[i].bursts(s.now, outage(c.Duration), c.Instances, random, c.breaks)...)
		}
	}
}
