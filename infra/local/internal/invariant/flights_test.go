package invariant

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/backend/drone"
	"github.com/fabrikam/drone-delivery/shared/backend/record"
)

// hold is an assignment of one drone, in minutes of some hour: made, departed,
// arrived, and undone if that is not 0.
type hold struct{ made, depart, arrive, undone int }

// Ensure times of one drone that only touch, or are over before they begin, do
// not count as two at a time.
func TestFlights(t *testing.T) {
	for name, tt := range map[string]struct {
		holds  []hold
		broken int
	}{
		"one after the other":                 {[]hold{{0, 1, 5, 0}, {5, 6, 9, 0}}, 0},
		"one a moment too soon":               {[]hold{{0, 1, 6, 0}, {5, 6, 9, 0}}, 1},
		"both before they depart":             {[]hold{{0, 8, 9, 0}, {1, 2, 3, 0}}, 1},
		"undone before":                       {[]hold{{0, 1, 9, 4}, {4, 5, 8, 0}}, 0},
		"undone too late":                     {[]hold{{0, 1, 9, 5}, {4, 5, 8, 0}}, 1},
		"undone after the arrival":            {[]hold{{0, 1, 3, 8}, {4, 5, 7, 0}}, 0},
		"departed before it was confirmed":    {[]hold{{4, 2, 6, 0}, {0, 1, 3, 0}}, 1},
		"arrived before it was confirmed":     {[]hold{{6, 2, 3, 0}, {4, 4, 5, 0}}, 0},
		"over at once, inside of another":     {[]hold{{0, 1, 9, 0}, {4, 4, 4, 0}}, 0},
		"two inside of a longer one":          {[]hold{{0, 1, 9, 0}, {2, 3, 4, 0}, {5, 6, 7, 0}}, 2},
		"behind a short one inside of a long": {[]hold{{0, 1, 4, 0}, {0, 1, 2, 0}, {3, 3, 6, 0}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var s Snapshot
			at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
			for i, h := range tt.holds {
				r := record.Record[drone.Assignment]{ID: string(rune('a' + i)), Journal: []record.Entry{{Change: record.Created, At: at(h.made)}}}
				r.Content.Flight = drone.Flight{DroneID: "d", Zone: "z", DepartAt: at(h.depart), PickupAt: at(h.depart), ArriveAt: at(h.arrive)}
				if h.undone != 0 {
					r.Journal = append(r.Journal, record.Entry{Change: record.Deleted, At: at(h.undone)})
				}
				s.Assignments = append(s.Assignments, r)
			}
			// Another drone, and one that was never confirmed, are in nobody's way.
			other := s.Assignments[0]
			other.ID, other.Content.DroneID = "other", "e"
			s.Assignments = append(s.Assignments, other, record.Record[drone.Assignment]{ID: "intent"})
			var f findings
			checkFlights(newIndex(&s), &f)
			if len(f.violations) != tt.broken || f.checked != len(tt.holds)+1 {
				t.Errorf("%d checked, %+v, want %d broken", f.checked, f.violations, tt.broken)
			}
		})
	}
}
