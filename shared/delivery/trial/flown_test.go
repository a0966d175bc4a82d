package trial

import (
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Ensure a package has one flight: one that was let go before its pickup is none.
func TestOneFlightForAPackage(t *testing.T) {
	for name, tt := range map[string]struct {
		holds  []flown // of one package, by transactions of their own
		broken []string
	}{
		"one":                      {[]flown{{0, 1, 5, 0}}, nil},
		"undone before the pickup": {[]flown{{0, 2, 5, 1}, {3, 4, 6, 0}}, nil},
		"undone at the pickup":     {[]flown{{0, 2, 5, 2}, {3, 4, 6, 0}}, []string{"b"}},
		"undone in the air":        {[]flown{{0, 2, 5, 3}, {4, 5, 6, 0}}, []string{"b"}},
		"undone long after":        {[]flown{{0, 2, 5, 20}, {30, 31, 36, 0}}, []string{"b"}},
		"flown, and live later":    {[]flown{{0, 2, 5, 0}, {30, 31, 36, 0}}, []string{"b"}},
		"both in the future":       {[]flown{{4, 62, 65, 0}, {0, 61, 66, 0}}, []string{"a"}},
		"both undone in the air":   {[]flown{{0, 2, 5, 3}, {4, 5, 9, 6}}, []string{"b"}},
		"the second undone":        {[]flown{{0, 2, 5, 0}, {4, 8, 9, 6}}, nil},
		"three":                    {[]flown{{0, 2, 5, 3}, {4, 5, 9, 6}, {7, 8, 9, 0}}, []string{"b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []record.Record[drone.Assignment]
			for i, h := range tt.holds {
				all = append(all, h.assignment(string(rune('a'+i)), "p"))
			}
			// Another package, and one that was never confirmed, are in nobody's way.
			intent := record.Record[drone.Assignment]{ID: "intent"}
			intent.Content.PackageDetail.ID = "p"
			f := judge("packages", append(all, flown{0, 1, 5, 0}.assignment("other", "q"), intent)...)
			var broken []string
			for _, v := range f.Violations {
				broken = append(broken, v.ID)
			}
			if !slices.Equal(broken, tt.broken) || f.Checked != len(tt.holds)+1 {
				t.Errorf("%d checked, %+v, want %v broken", f.Checked, f.Violations, tt.broken)
			}
		})
	}
}

// assignment is a hold as it is stored: picked up at the departure, live unless
// it was undone.
func (h flown) assignment(transactionID, packageID string) record.Record[drone.Assignment] {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	r := record.Record[drone.Assignment]{ID: transactionID, TransactionID: transactionID,
		Journal: []record.JournalEntry{{Change: record.Created, TransactionID: transactionID, At: at(h.made)}}}
	r.Content.PackageDetail.ID = packageID
	r.Content.Flight = drone.Flight{DroneID: "d", Zone: "z", DepartAt: at(h.depart), PickupAt: at(h.depart), ArriveAt: at(h.arrive)}
	if h.undone != 0 {
		r.TransactionID = ""
		r.Journal = append(r.Journal, record.JournalEntry{Change: record.Deleted, TransactionID: transactionID, At: at(h.undone)})
	}
	return r
}
