package chaos

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Bound is how often something must have happened for a run to prove anything.
type Bound struct {
	Name   string `json:"name"`
	Wanted int    `json:"wanted"`
	Seen   int    `json:"seen"`

	point fault.Point // whose hits are counted, "" for another bound
	sign  Sign        // that is counted, "" for another bound
	shard int         // whose transactions are counted, 0 for another bound
}

// Met reports whether it happened often enough.
func (b Bound) Met() bool { return b.Seen >= b.Wanted }

// The run that the numbers below are for; those of others are in proportion, by
// what they have least of.
const (
	measureRequests = 1500
	measureDuration = 45 * time.Second
)

// signBounds are how often a sign must be seen in the run above, and the fault
// that brings it about: without it there is nothing to be seen. That run must show
// each at least once; what comes by luck (below 1) longer ones need not show as
// much more often.
var signBounds = []struct {
	sign   Sign
	wanted float64
	needs  fault.Point
}{
	{Unacknowledged, 3, fault.EventHubsSendLost},
	{GapsFilled, 2, fault.HostStopInRetry},
	{LeasesLost, 0.3, fault.HandlerFreeze},
	{LeasesTaken, 10, fault.HandlerKill},
	{DeadLetters, 3, fault.CosmosPartition},
	{Rescued, 0.6, fault.CosmosPartition},
	{LateRefused, 0.4, fault.BackendLate},
	{UnknownUndone, 3, fault.BackendAnswerLost},
	{Repeated, 1, fault.HandlerKill},
	{Recreated, 0.5, fault.EventHubsRecreated},
	{Recognized, 10, fault.HostOwnership},
	{Outside, 2, ""}, // of each crowd: one that meets an outage is refused at the door, bit by bit
	{Pickups, 1, fault.BackendAway},
	{Lost, 10, ""},
	{Moves, 12, ""},
	{Pinned, 20, ""},
	{Moved, 5, ""},
	{OldMap, 0.2, fault.CosmosMap}, // who starts meanwhile has none
}

// shardShare is the part of the accepted requests that each shard must have had, for
// however short a time it has taken any.
const shardShare = 0.03

// The shares of the requests that must be accepted, and Completed; and what
// part of the acts that the plan has on average must have been done, since an
// act waits for its moment, and its pauses begin anew when the tree is killed.
const (
	acceptedShare  = 0.7
	completedShare = 0.4
	actsShare      = 0.25
	hitsWanted     = 3    // of a point, in the run above
	pointsWanted   = 0.12 // the share of the crash points, in the run above
	mostPoints     = 0.5  // the same in a run of any size: some are rarely passed
	refusedWanted  = 1    // transactions whose undo is refused, in the run above
)

// The bounds that are neither of a sign nor of a point.
const (
	boundAccepted  = "accepted"
	boundCompleted = "completed"
	boundKills     = "kills of the tree"
	boundCrashes   = "crash points"
	boundClosed    = "shards closed for good" // of those with more than two
)

// bounds are those of a run with so many crash points, without what was seen.
func (c Config) bounds(crashPoints int) []Bound {
	size := min(float64(c.Requests)/measureRequests, c.Duration.Seconds()/measureDuration.Seconds())
	all := []Bound{
		{Name: boundAccepted, Wanted: int(acceptedShare * float64(c.Requests))},
		{Name: boundCompleted, Wanted: int(completedShare * float64(c.Requests))},
		{Name: boundKills, Wanted: c.TreeKills},
		{Name: boundCrashes, Wanted: int(min(mostPoints, pointsWanted*size) * float64(crashPoints))},
	}
	for _, s := range signBounds {
		if s.needs != "" && !c.breaks(s.needs) || c.lacks(s.sign) {
			continue
		}
		wanted := max(int(min(1, size)), int(s.wanted*size))
		if s.sign == Outside {
			wanted = int(s.wanted) * (c.Requests / crowdEvery)
		}
		all = append(all, Bound{Name: string(s.sign), Wanted: wanted, sign: s.sign})
	}
	for n := 1; c.sharded() && n <= c.Shards; n++ {
		all = append(all, Bound{Name: fmt.Sprint("transactions in shard ", n), Wanted: int(shardShare * float64(c.Requests)), shard: n})
	}
	for _, info := range fault.Points {
		if c.breaks(info.Point) {
			all = append(all, Bound{Name: string(info.Point), Wanted: c.hits(info, size), point: info.Point})
		}
	}
	return all
}

// lacks reports whether the business can't show a sign.
func (c Config) lacks(sign Sign) bool {
	switch sign {
	case Recognized: // the queue drops what comes again
		return c.Scheduler == settings.SchedulerQueue
	case Rescued: // no operation is in a queue, but those that the trigger has skipped
		return c.Scheduler == settings.SchedulerBatch
	case Outside: // it takes many changes of one transaction
		return c.Trial.Change == nil
	case Pickups:
		return len(c.pivots()) == 0
	case Lost:
		return c.Trial.Rivals == nil
	case Moves, Pinned, Moved:
		return !c.sharded()
	case OldMap: // of the shard that is closed
		return !c.closes() || c.Instances < 2
	}
	return false
}

// shown are those of the rules that the run can give something to look at: where
// nothing can be changed, no transaction is full, and with one shard nobody is asked
// again.
func (c Config) shown(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		return rule == "room" && c.lacks(Outside) || rule == "answers" && !c.sharded()
	})
}

// hits is how often a point must have been hit.
func (c Config) hits(info fault.Info, size float64) int {
	rate := c.Faults.Rates[info.Point]
	switch {
	case info.Point == fault.BackendUndoRefused: // chosen by transaction, of those that are undone
		return int(refusedWanted * size)
	case info.Point == fault.EventHubsRecreated: // which waits for Relay to have caught up
		return int(min(1, size))
	case info.Lasts || rate == 0:
		return int(size) // one burst
	case info.Act:
		return max(int(min(1, size)), int(actsShare*rate*c.Duration.Minutes()*min(1, size)))
	}
	return int(hitsWanted * size)
}

// unchecked are bounds for the rules that had nothing to look at, and so have shown
// nothing: in a run that is large enough, and breaks all there is, each has.
func (c Config) unchecked(rules []string) []Bound {
	all := !slices.ContainsFunc(fault.Points, func(info fault.Info) bool { return c.can(info.Point) && !c.breaks(info.Point) })
	if !all || c.Requests < measureRequests || c.Duration < measureDuration {
		return nil
	}
	var bounds []Bound
	for _, rule := range c.shown(rules) {
		bounds = append(bounds, Bound{Name: "things that the rule " + rule + " has looked at", Wanted: 1})
	}
	return bounds
}

// breakableRequests are so many that something of each kind is stored which a rule
// is broken by, whatever the faults.
const breakableRequests = 300

// unbroken are bounds for the rules that nothing could be made wrong for, to see them
// find it.
func (c Config) unbroken(rules []string) []Bound {
	if c.Requests < breakableRequests {
		return nil
	}
	var bounds []Bound
	for _, rule := range c.shown(rules) {
		bounds = append(bounds, Bound{Name: "things made wrong for the rule " + rule, Wanted: 1})
	}
	return bounds
}

// breaks reports whether the run has a fault, by its rate or in bursts.
func (c Config) breaks(p fault.Point) bool {
	rate, planned := c.Faults.Rates[p]
	info, _ := fault.Lookup(p)
	return c.can(p) && planned && (rate > 0 || info.Rate == 0)
}

// can reports whether there is anything here that a fault could be done to.
func (c Config) can(p fault.Point) bool {
	switch p {
	case fault.HandlerFreeze:
		return runtime.GOOS != "windows"
	case fault.ServiceLate, fault.ServiceKill:
		return len(c.Trial.Services) > 0
	case fault.CosmosMap: // for one of two fronts
		return c.sharded() && c.Instances > 1
	case fault.EventHubsRecreated: // slow deliveries hold their partitions: the hub is hardly ever empty
		return c.Scheduler == settings.SchedulerQueue
	}
	return true
}

// seen is what the bounds are held against.
type seen struct {
	accepted, completed, kills, points int
	signs                              map[Sign]int
	shards                             []int // transactions of each, from the first; none before the end
	faults                             map[fault.Point]fault.Count
}

// measure puts what was seen into bounds.
func measure(bounds []Bound, s seen) []Bound {
	out := slices.Clone(bounds)
	for i := range out {
		b := &out[i]
		switch {
		case b.point != "":
			b.Seen = int(s.faults[b.point].Hit)
		case b.shard > 0:
			if b.shard <= len(s.shards) {
				b.Seen = s.shards[b.shard-1]
			}
		case b.sign != "":
			b.Seen = s.signs[b.sign]
		default:
			b.Seen = map[string]int{boundAccepted: s.accepted, boundCompleted: s.completed, boundKills: s.kills, boundCrashes: s.points}[b.Name]
		}
	}
	return out
}

// writeBounds writes the table of bounds, and names those that are not met.
func writeBounds(w io.Writer, bounds []Bound) {
	fmt.Fprint(w, "\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  to prove anything\twanted\tseen\t")
	for _, b := range bounds {
		mark := ""
		switch {
		case !b.Met():
			mark = "BELOW ITS BOUND"
		case b.Wanted == 0:
			mark = "nothing is proved of it: the run is too small to ask for it"
		}
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", b.Name, b.Wanted, b.Seen, mark)
	}
	table.Flush() // a builder takes everything
}
