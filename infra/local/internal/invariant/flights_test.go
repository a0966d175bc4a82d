package invariant

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// flown is an assignment of one drone, in minutes of some hour: made, departed,
// arrived, and undone if that is not 0.
type flown struct{ made, depart, arrive, undone int }

// Ensure times of one drone that only touch, or are over before they begin, do
// not count as two at a time.
func TestFlights(t *testing.T) {
	for name, tt := range map[string]struct {
		holds  []flown
		broken int
	}{
		"one after the other":                 {[]flown{{0, 1, 5, 0}, {5, 6, 9, 0}}, 0},
		"one a moment too soon":               {[]flown{{0, 1, 6, 0}, {5, 5, 9, 0}}, 1},
		"made before another has flown":       {[]flown{{0, 8, 9, 0}, {1, 2, 3, 0}}, 0},
		"undone before":                       {[]flown{{0, 1, 9, 4}, {4, 5, 8, 0}}, 0},
		"undone too late":                     {[]flown{{0, 1, 9, 5}, {4, 4, 8, 0}}, 1},
		"undone after the arrival":            {[]flown{{0, 1, 3, 8}, {4, 5, 7, 0}}, 0},
		"departed before it was confirmed":    {[]flown{{4, 2, 6, 0}, {0, 1, 3, 0}}, 1},
		"arrived before it was confirmed":     {[]flown{{6, 2, 3, 0}, {4, 4, 5, 0}}, 0},
		"over at once, inside of another":     {[]flown{{0, 1, 9, 0}, {4, 4, 4, 0}}, 0},
		"two inside of a longer one":          {[]flown{{0, 1, 9, 0}, {2, 3, 4, 0}, {5, 6, 7, 0}}, 2},
		"behind a short one inside of a long": {[]flown{{0, 1, 4, 0}, {0, 1, 2, 0}, {3, 3, 6, 0}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var s Snapshot
			for i, h := range tt.holds {
				s.Assignments = append(s.Assignments, h.assignment(string(rune('a'+i)), "p"))
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

// Ensure that a flight which was called back is compared by what is certain of
// its end: the instance that undid it may have a clock that is ahead of that of
// the instance which lent the drone next.
func TestFlightsByClocksThatAreApart(t *testing.T) {
	for after, broken := range map[time.Duration]int{34 * time.Millisecond: 0, 5 * time.Second: 0, 6 * time.Second: 1} {
		undone := flown{0, 5, 9, 5}.assignment("a", "p")
		last := &undone.Journal[len(undone.Journal)-1]
		last.At = last.At.Add(after)
		s := Snapshot{Assignments: []record.Record[drone.Assignment]{undone, flown{4, 4, 8, 0}.assignment("b", "p")}}
		var f findings
		checkFlights(newIndex(&s), &f)
		if len(f.violations) != broken {
			t.Errorf("undone %v after the departure: %+v, want %d broken", after, f.violations, broken)
		}
	}
}
