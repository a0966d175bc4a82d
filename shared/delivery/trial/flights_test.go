package trial

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/trial"
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
			var all []record.Record[drone.Assignment]
			for i, h := range tt.holds {
				all = append(all, h.assignment(string(rune('a'+i)), "p"))
			}
			// Another drone, and one that was never confirmed, are in nobody's way.
			other := all[0]
			other.ID, other.Content.DroneID = "other", "e"
			f := judge("flights", append(all, other, record.Record[drone.Assignment]{ID: "intent"})...)
			if len(f.Violations) != tt.broken || f.Checked != len(tt.holds)+1 {
				t.Errorf("%d checked, %+v, want %d broken", f.Checked, f.Violations, tt.broken)
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
		if f := judge("flights", undone, flown{4, 4, 8, 0}.assignment("b", "p")); len(f.Violations) != broken {
			t.Errorf("undone %v after the departure: %+v, want %d broken", after, f.Violations, broken)
		}
	}
}

// judge runs a rule on assignments.
func judge(name string, assignments ...record.Record[drone.Assignment]) trial.Findings {
	stored := make([]record.Record[json.RawMessage], len(assignments))
	for i := range assignments {
		doc, err := json.Marshal(assignments[i])
		if err == nil {
			err = json.Unmarshal(doc, &stored[i])
		}
		if err != nil {
			panic(err)
		}
	}
	all, err := rules(&trial.Stored{Records: map[string][]record.Record[json.RawMessage]{delivery.AssignmentsContainer: stored}})
	if err != nil {
		panic(err)
	}
	var f trial.Findings
	for _, r := range all {
		if r.Name == name {
			r.Check(&f)
		}
	}
	return f
}
