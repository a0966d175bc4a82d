package trial

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// checkDrones compares drones and assignments, both ways round. A drone is free
// again by time; what is over may still stand in it.
func (w *world) checkDrones(f *trial.Findings) {
	for _, d := range w.fleet {
		f.Checked++
		w.checkHeld(d, f)
	}
	for id, r := range trial.Sorted(w.assignments) {
		if r.Content.DroneID == "" {
			continue
		}
		f.Checked++
		d := w.drones[candidateOf(r)]
		switch {
		case d == nil:
			f.Broken(id, "no drone", "its drone %s in %s does not exist", r.Content.DroneID, r.Content.Zone)
		case r.Live() && r.Content.ArriveAt.After(w.now) && !slices.ContainsFunc(d.Holds, func(h drone.Hold) bool { return h.TransactionID == id }):
			f.Broken(id, "drone lost", "it needs drone %s until %s, which is not held for it", d.ID, stamp(r.Content.ArriveAt))
		}
	}
}

func candidateOf(r *record.Record[drone.Assignment]) drone.Candidate {
	return drone.Candidate{DroneID: r.Content.DroneID, Zone: r.Content.Zone}
}

// checkHeld looks at what a drone is set aside for: live assignments that name
// it, each for the time of its flight, and no two at a time.
func (w *world) checkHeld(d drone.Drone, f *trial.Findings) {
	until := int64(0)
	for i, h := range d.Holds {
		w.checkHold(d, h, f)
		until = max(until, h.Until)
		for _, other := range d.Holds[:i] {
			if other.TransactionID != h.TransactionID && other.From < h.Until && h.From < other.Until {
				f.Broken(h.TransactionID, "held twice", "drone %s is held for it and for %s at %s", d.ID, other.TransactionID, milli(max(h.From, other.From)))
			}
		}
	}
	if d.BusyUntil != until {
		f.Broken(d.ID, "held for nobody", "busy until %s, its last hold ends at %s", milli(d.BusyUntil), milli(until))
	}
}

func (w *world) checkHold(d drone.Drone, h drone.Hold, f *trial.Findings) {
	r := w.assignments[h.TransactionID]
	if r == nil || !r.Live() || candidateOf(r) != (drone.Candidate{DroneID: d.ID, Zone: d.Zone}) {
		f.Broken(h.TransactionID, "held for nobody", "drone %s is held for it until %s, and it has no assignment with that drone", d.ID, milli(h.Until))
		return
	}
	// A change drops the time of the flight before it once it is confirmed, unless
	// the process died in between: then there are both.
	changed := slices.ContainsFunc(r.Journal, func(e record.JournalEntry) bool { return e.Change == record.Changed })
	flight := r.Content.Flight
	if fits := h.From <= flight.DepartAt.UnixMilli() && h.Until == flight.ArriveAt.UnixMilli(); !fits && !changed {
		f.Broken(h.TransactionID, "held for another time", "drone %s from %s until %s, its flight is from %s to %s",
			d.ID, milli(h.From), milli(h.Until), stamp(flight.DepartAt), stamp(flight.ArriveAt))
	}
}
