package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// interval is how long a drone flew for a transaction.
type interval struct {
	transactionID string
	drone.Candidate
	from, to int64 // Unix milliseconds
}

// clocksApart is how far the clocks of instances may be apart.
const clocksApart = 5 * time.Second

// holdOf returns how long an assignment needed its drone for certain: from the
// departure to the arrival, or to the undo; before the departure others may have
// it. When it was undone another instance says than when it departed, and whoever
// had the drone next: by their clocks that was up to clocksApart earlier. It is
// false for an assignment that was never confirmed.
func holdOf(r *record.Record[drone.Assignment]) (interval, bool) {
	flight := r.Content.Flight
	h := interval{
		transactionID: r.ID, Candidate: drone.Candidate{DroneID: flight.DroneID, Zone: flight.Zone},
		from: flight.DepartAt.UnixMilli(), to: flight.ArriveAt.UnixMilli(),
	}
	for _, e := range r.Journal {
		if e.Change == record.Deleted {
			h.to = min(h.to, e.At.Add(-clocksApart).UnixMilli())
		}
	}
	return h, flight.DroneID != ""
}

// checkFlights wants the flights of a drone not to overlap.
func (w *world) checkFlights(f *trial.Findings) {
	holds := map[drone.Candidate][]interval{}
	for _, r := range w.assignments {
		if hold, ok := holdOf(r); ok {
			f.Checked++
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
				f.Broken(next.transactionID, "two at a time", "it has had drone %s from %s, and %s has had it until %s",
					next.DroneID, milli(next.from), longest.transactionID, milli(longest.to))
			}
			if next.to > longest.to {
				longest = next
			}
		}
	}
	slices.SortFunc(f.Violations, func(a, b trial.Violation) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Detail, b.Detail))
	})
}
