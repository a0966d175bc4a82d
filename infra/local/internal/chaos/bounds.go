package chaos

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Bound is how often something must have happened for a run to prove anything.
type Bound struct {
	Name   string `json:"name"`
	Wanted int    `json:"wanted"`
	Seen   int    `json:"seen"`

	point fault.Point // whose hits are counted, "" for another bound
	sign  Sign        // that is counted, "" for another bound
}

// Met reports whether it happened often enough.
func (b Bound) Met() bool { return b.Seen >= b.Wanted }

// The run that the numbers below are for; those of others are in proportion, by
// what they have least of.
const (
	measureDeliveries = 1500
	measureDuration   = 45 * time.Second
)

// signBounds are how often a sign must be seen in the run above, and the fault
// that brings it about: without it there is nothing to be seen. What that run
// shows by luck alone (below 1) only longer ones must show.
var signBounds = []struct {
	sign   Sign
	wanted float64
	needs  fault.Point
}{
	{Unacknowledged, 0.6, fault.EventHubsAway},
	{GapsFilled, 1, fault.HostStopInRetry},
	{LeasesLost, 0.3, fault.HandlerFreeze},
	{LeasesTaken, 5, fault.HandlerKill},
	{DeadLetters, 2, fault.CosmosPartition},
	{Rescued, 0.6, fault.CosmosPartition},
	{LateRefused, 0.3, fault.BackendLate},
	{UnknownUndone, 2, fault.BackendAnswerLost},
}

// The shares of the deliveries that must be accepted, and Completed; and what
// part of the acts that the plan has on average must have been done, since an
// act waits for its moment, and its pauses begin anew when the tree is killed.
const (
	acceptedShare  = 0.7
	completedShare = 0.4
	actsShare      = 0.25
	hitsWanted     = 3    // of a point, in the run above
	pointsWanted   = 0.06 // the share of the crash points, in the run above
	refusedWanted  = 1    // transactions whose undo is refused, in the run above
	ownersWanted   = 0.5  // times that a partition has two owners, in the run above
)

// bounds are those of a run, whose handler has so many crash points, without what
// was seen.
func (c Config) bounds(crashPoints int) []Bound {
	size := min(float64(c.Deliveries)/measureDeliveries, c.Duration.Seconds()/measureDuration.Seconds())
	all := []Bound{
		{Name: "accepted", Wanted: int(acceptedShare * float64(c.Deliveries))},
		{Name: "completed", Wanted: int(completedShare * float64(c.Deliveries))},
		{Name: "kills of the tree", Wanted: c.TreeKills},
		{Name: "crash points", Wanted: int(min(1, pointsWanted*size) * float64(crashPoints))},
	}
	for _, s := range signBounds {
		if !c.Policy.Signs || !c.breaks(s.needs) {
			continue
		}
		all = append(all, Bound{Name: string(s.sign), Wanted: int(s.wanted * size), sign: s.sign})
	}
	for _, info := range fault.Points {
		if c.breaks(info.Point) {
			all = append(all, Bound{Name: string(info.Point), Wanted: c.hits(info, size), point: info.Point})
		}
	}
	return all
}

// hits is how often a point must have been hit.
func (c Config) hits(info fault.Info, size float64) int {
	rate := c.Faults.Rates[info.Point]
	switch {
	case info.Point == fault.BackendUndoRefused: // chosen by transaction, of those that are undone
		return int(refusedWanted * size)
	case info.Point == fault.HostTwoOwners: // which waits for a host that has partitions
		return int(ownersWanted * size)
	case info.Lasts || rate == 0:
		return int(size) // one burst
	case info.Act:
		return int(actsShare * rate * c.Duration.Minutes() * min(1, size))
	}
	return int(hitsWanted * size)
}

// breaks reports whether the run has a fault, by its rate or in bursts.
func (c Config) breaks(p fault.Point) bool {
	rate, planned := c.Faults.Rates[p]
	info, _ := fault.Lookup(p)
	if p == fault.HandlerFreeze && runtime.GOOS == "windows" {
		return false
	}
	return planned && (rate > 0 || info.Rate == 0)
}

// seen is what the bounds are held against.
type seen struct {
	accepted, completed, kills, points int
	signs                              map[Sign]int
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
		case b.sign != "":
			b.Seen = s.signs[b.sign]
		default:
			b.Seen = map[string]int{"accepted": s.accepted, "completed": s.completed, "kills of the tree": s.kills, "crash points": s.points}[b.Name]
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
		if !b.Met() {
			mark = "BELOW ITS BOUND"
		}
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", b.Name, b.Wanted, b.Seen, mark)
	}
	table.Flush() // a builder takes everything
}
