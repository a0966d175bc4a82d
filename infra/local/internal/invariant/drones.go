package invariant

import (
	"cmp"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// checkFlights wants the flights of a drone not to overlap.
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
// again by time; what is over may still stand in it.
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
		case r.Live() && r.Content.ArriveAt.After(x.Now) && !slices.ContainsFunc(d.Holds, func(h drone.Hold) bool { return h.TransactionID == id }):
			f.broken(id, "drone lost", "it needs drone %s until %s, which is not held for it", d.ID, stamp(r.Content.ArriveAt))
		}
	}
}

func candidateOf(r *record.Record[drone.Assignment]) drone.Candidate {
	return drone.Candidate{DroneID: r.Content.DroneID, Zone: r.Content.Zone}
}

// checkHeld looks at what a drone is set aside for: live assignments that name
// it, each for the time of its flight, and no two at a time.
func (x *index) checkHeld(d drone.Drone, f *findings) {
	until := int64(0)
	for i, h := range d.Holds {
		x.checkHold(d, h, f)
		until = max(until, h.Until)
		for _, other := range d.Holds[:i] {
			if other.TransactionID != h.TransactionID && other.From < h.Until && h.From < other.Until {
				f.broken(h.TransactionID, "held twice", "drone %s is held for it and for %s at %s", d.ID, other.TransactionID, milli(max(h.From, other.From)))
			}
		}
	}
	if d.BusyUntil != until {
		f.broken(d.ID, "held for nobody", "busy until %s, its last hold ends at %s", milli(d.BusyUntil), milli(until))
	}
}

func (x *index) checkHold(d drone.Drone, h drone.Hold, f *findings) {
	r := x.assignments[h.TransactionID]
	if r == nil || !r.Live() || candidateOf(r) != (drone.Candidate{DroneID: d.ID, Zone: d.Zone}) {
		f.broken(h.TransactionID, "held for nobody", "drone %s is held for it until %s, and it has no assignment with that drone", d.ID, milli(h.Until))
		return
	}
	// A change drops the time of the flight before it once it is confirmed, unless
	// the process died in between: then there are both.
	changed := slices.ContainsFunc(r.Journal, func(e record.Entry) bool { return e.Change == record.Changed })
	flight := r.Content.Flight
	if fits := h.From <= flight.DepartAt.UnixMilli() && h.Until == flight.ArriveAt.UnixMilli(); !fits && !changed {
		f.broken(h.TransactionID, "held for another time", "drone %s from %s until %s, its flight is from %s to %s",
			d.ID, milli(h.From), milli(h.Until), stamp(flight.DepartAt), stamp(flight.ArriveAt))
	}
}

// stamp writes an instant for people.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

func milli(unix int64) string { return stamp(time.UnixMilli(unix)) }
