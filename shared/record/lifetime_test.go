package record_test

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// Ensure that everything that a backend keeps has a lifetime, also what nobody
// undoes, and that none ends before it is needed no more.
func TestLiveContentExpiresAfterItsEnd(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	now := start
	const keep, day = 30 * 24 * time.Hour, 24 * time.Hour
	end := start.Add(5 * day)
	k := record.Keeper[string]{
		Store: &recordtest.Memory[record.Record[string]]{}, Now: func() time.Time { return now }, Retention: keep,
		Needed: func(string, time.Time) time.Time { return end },
	}
	by := record.By{TransactionID: "a", OperationID: "op", Revision: 1}
	put := func(hash string, revision int) record.Record[string] {
		t.Helper()
		by.Revision = revision
		rec, _, err := k.Put(t.Context(), "r", by, hash, func(*string) string { return hash })
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	until := func(rec record.Record[string], want time.Time) {
		t.Helper()
		if got := now.Add(time.Duration(rec.TTL) * time.Second); !got.Equal(want) {
			t.Errorf("the document lives until %v, want %v", got, want)
		}
	}
	until(put("x", 1), end.Add(keep))
	// Moved: as long as the later end needs it.
	now, end = start.Add(2*day), start.Add(20*day)
	until(put("y", 2), end.Add(keep))
	// A write of another's tombstone changes nothing of that.
	now = start.Add(3 * day)
	if err := k.Delete(t.Context(), "r", record.By{TransactionID: "b", Revision: 1}); err != nil {
		t.Fatal(err)
	}
	rec, err := k.Get(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	until(rec, end.Add(keep))
	// Written after its end it lives on for the retention.
	now = end.Add(day)
	until(put("z", 3), now.Add(keep))
	if err = k.Delete(t.Context(), "r", by); err != nil {
		t.Fatal(err)
	}
	if rec, err = k.Get(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	until(rec, now.Add(keep))
	if !rec.Needed.IsZero() {
		t.Errorf("needed until %v, and it is undone", rec.Needed)
	}
	// Without an end it stays.
	k.Needed = record.For[string](0)
	if rec, _, err = k.Put(t.Context(), "s", by, "x", func(*string) string { return "x" }); err != nil || rec.TTL != 0 {
		t.Errorf("lives for %d s, %v", rec.TTL, err)
	}
	k.Needed = record.For[string](7 * day)
	if rec, _, err = k.Put(t.Context(), "u", by, "x", func(*string) string { return "x" }); err != nil {
		t.Fatal(err)
	}
	until(rec, now.Add(7*day+keep))
}
