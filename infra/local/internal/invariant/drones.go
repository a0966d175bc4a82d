package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/drone"
	"github.com/fabrikam/drone-delivery/shared/backend/record"
)

// checkFlights wants the times for which a drone was held not to overlap, those
// of undone assignments included.
func checkFlights(x *index, f *findings) {
	holds := map[drone.Candidate][]interval{}
	for _, r := range x.assignments {
		if hold, ok := holdOf(r); ok {
			f.checked++
			holds[hold.Candidate] = append(holds[hold.Candidate], hold)
		}
	}
	for _, held := range holds {
		slices.SortFunc(held, func(a, b interval) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.transactionID, b.transactionID))
		})
		longest := held[0]
		for _, next := range held[1:] {
			if next.from < longest.to && next.from < next.to {
				f.broken(next.transactionID, "two at a time", "it has had drone %s from %s, and %s has had it until %s",
					next.DroneID, milli(next.from), longest.transactionID, milli(longest.to))
			}
			if next.to > longest.to {
				longest = next
			}
		}
	}
	slices.SortFunc(f.violations, func(a, b Violation) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Detail, b.Detail)) })
}

// checkDrones compares drones and assignments, both ways round. A drone is free
// again by time, and still names the transaction that it was last held for.
func checkDrones(x *index, f *findings) {
	for _, d := range x.Drones {
		f.checked++
		x.checkHeld(d, f)
	}
	for id, r := range sorted(x.assignments) {
		if r.Content.DroneID == "" {
			continue
		}
		f.checked++
		d := x.drones[candidateOf(r)]
		switch {
		case d == nil:
			f.broken(id, "no drone", "its drone %s in %s does not exist", r.Content.DroneID, r.Content.Zone)
		case r.Live() && r.Content.ArriveAt.After(x.Now) && d.TransactionID != id:
			f.broken(id, "drone lost", "it needs drone %s until %s, which is held for %q", d.ID, stamp(r.Content.ArriveAt), d.TransactionID)
		}
	}
}

func candidateOf(r *record.Record[drone.Assignment]) drone.Candidate {
	return drone.Candidate{DroneID: r.Content.DroneID, Zone: r.Content.Zone}
}

func (x *index) checkHeld(d drone.Drone, f *findings) {
	if d.TransactionID == "" {
		if d.BusyUntil != 0 {
			f.broken(d.ID, "held for nobody", "until %s", milli(d.BusyUntil))
		}
		return
	}
	r := x.assignments[d.TransactionID]
	if r == nil || !r.Live() || candidateOf(r) != (drone.Candidate{DroneID: d.ID, Zone: d.Zone}) {
		f.broken(d.TransactionID, "held for nobody", "drone %s is held for it until %s, and it has no assignment with that drone", d.ID, milli(d.BusyUntil))
		return
	}
	// A change to a sooner flight frees the drone sooner, unless the process
	// died in between: then it is held as long as before.
	changed := slices.ContainsFunc(r.Journal, func(e record.Entry) bool { return e.Change == record.Changed })
	if arrive := r.Content.ArriveAt.UnixMilli(); d.BusyUntil < arrive || d.BusyUntil > arrive && !changed {
		f.broken(d.TransactionID, "held for another time", "drone %s until %s, its flight arrives at %s", d.ID, milli(d.BusyUntil), milli(arrive))
	}
}

// stamp writes an instant for people.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func milli(unix int64) string { return stamp(time.UnixMilli(unix)) }
