package invariant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// Ensure a package that many transactions have had is judged by what its
// documents still tell, wherever its journal begins.
func TestForgottenEntries(t *testing.T) {
	for name, tt := range map[string]struct {
		live, changes int // of the last transaction
		bare          int // undone before they came, behind all others
		spoil         func(all []record.Record[parcel.Content]) []record.Record[parcel.Content]
		broken        string
	}{
		"begins with a Created":             {},
		"begins with a Deleted":             {live: 1},
		"begins with a Changed":             {live: 1, changes: 2},
		"only of the live one":              {live: 1, changes: record.MaxEntries - 1},
		"tombstones beside":                 {live: 1, bare: 2 * record.MaxTombstones},
		"an entry is missing":               {spoil: without(7), broken: "gap"},
		"the second is missing":             {live: 1, spoil: without(1), broken: "gap"},
		"too few for what it has forgotten": {spoil: without(0), broken: "gap"},
		"a tombstone beside is lost": {bare: 2 * record.MaxTombstones, broken: "no tombstone",
			spoil: func(all []record.Record[parcel.Content]) []record.Record[parcel.Content] {
				return slices.DeleteFunc(all, func(r record.Record[parcel.Content]) bool { return strings.HasSuffix(r.ID, ":t-99") })
			}},
	} {
		t.Run(name, func(t *testing.T) {
			var store recordtest.Memory[record.Record[parcel.Content]]
			service := parcel.New(record.Keeper[parcel.Content]{Store: &store, Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }})
			put := func(n, revision int) {
				by := record.By{TransactionID: fmt.Sprint("t-", n), Revision: revision}
				if _, _, err := service.Put(t.Context(), "p", by, parcel.Content{WeightKg: float64(revision)}); err != nil {
					t.Fatal(err)
				}
			}
			undo := func(n int) {
				if err := service.Delete(t.Context(), "p", record.By{TransactionID: fmt.Sprint("t-", n)}); err != nil {
					t.Fatal(err)
				}
			}
			const gone = 100
			for n := range gone {
				put(n, 1)
				undo(n)
			}
			for range tt.live {
				for change := range 1 + tt.changes {
					put(gone, 1+change)
				}
			}
			for n := range tt.bare {
				undo(1000 + n)
			}
			s := scene{Packages: allOf(t, &store)}
			if tt.spoil != nil {
				s.Packages = tt.spoil(s.Packages)
			}
			f := judge(s, checkJournals)
			if f.Checked != 1 || (len(f.Violations) > 0) != (tt.broken != "") || len(f.Violations) > 0 && f.Violations[0].What != tt.broken {
				t.Errorf("%d checked, %+v, want %q", f.Checked, f.Violations, tt.broken)
			}
		})
	}
}

// without drops an entry from the journal.
func without(i int) func([]record.Record[parcel.Content]) []record.Record[parcel.Content] {
	return func(all []record.Record[parcel.Content]) []record.Record[parcel.Content] {
		r := recordOf(all, "p")
		r.Journal = slices.Delete(r.Journal, i, i+1)
		return all
	}
}
