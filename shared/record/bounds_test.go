package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// long is an id of the greatest length that ends with a number.
func long(n int) string { return fmt.Sprintf("%s-%06d", strings.Repeat("t", 57), n) }

// wantGone wants a late PUT of the transactions to be refused, and to change
// nothing.
func (f *fixture) wantGone(t *testing.T, transactions ...string) {
	t.Helper()
	for _, id := range transactions {
		for revision := range 3 {
			if _, err := f.put(t, id, 1+revision, "late"); problem.From(err).Status != http.StatusGone {
				t.Errorf("late put of %s: %v", id, err)
			}
		}
	}
}

// wantBounded wants no document of the store to be larger than that many bytes,
// and those beside the record to say what they are.
func (f *fixture) wantBounded(t *testing.T, most int) map[string]record.Record[string] {
	t.Helper()
	all, err := f.store.All()
	if err != nil {
		t.Fatal(err)
	}
	for id, rec := range all {
		data, err := json.Marshal(rec)
		if err != nil || len(data) > most {
			t.Errorf("%s has %d bytes, more than %d: %v", id, len(data), most, err)
		}
		of, beside := record.BesideOf(id)
		if beside && (of != "r" || rec.Live() || rec.TTL <= 0 || len(rec.Tombstones) != 1 || id != record.TombstoneID("r", rec.Tombstones[0].TransactionID)) {
			t.Errorf("%s: %+v", id, rec)
		}
	}
	return all
}

// Ensure a record stays small however many transactions have undone their effect
// there, and that none of them can come back.
func TestRecordIsBounded(t *testing.T) {
	f := newFixture()
	const many, cameTo = 5000, 600 // the latest; the others were undone before their PUT came
	f.bury(t, many-cameTo)
	for n := many - cameTo; n < many; n++ {
		if _, err := f.put(t, long(n), 1, strings.Repeat("h", 64)); err != nil {
			t.Fatal(err)
		}
		if err := f.del(t, long(n)); err != nil {
			t.Fatal(err)
		}
	}
	all := f.wantBounded(t, 64<<10)
	if got, want := len(all), 1+many-record.MaxTombstones; got != want {
		t.Errorf("%d documents, want %d", got, want)
	}
	rec := all["r"]
	for i, e := range rec.Journal {
		if want := 2*cameTo - record.MaxEntries + 1 + i; e.Seq != want {
			t.Fatalf("entry %d has the number %d, want %d", i, e.Seq, want)
		}
	}
	writes := f.store.Writes()
	f.wantGone(t, long(0), long(1), long(many/2), long(many-record.MaxTombstones-1), long(many-record.MaxTombstones), long(many-1))
	if got := f.store.Writes(); got != writes {
		t.Errorf("the late ones have written %d times", got-writes)
	}
	if _, err := f.put(t, "next", 1, "x"); err != nil {
		t.Errorf("the next one's: %v", err)
	}
	if got, err := f.keeper.GetLive(t.Context(), "r"); err != nil || got.Content != "x" || got.Since().IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	page, next, err := f.keeper.PageOf(t.Context(), "x", "0")
	if len(page) != 1 || next != "" || err != nil {
		t.Errorf("the list has %d, %q, %v", len(page), next, err)
	}
}

// Ensure what one transaction does is bounded as well, and that it can still be
// told since when its effect is there.
func TestJournalOfOneIsBounded(t *testing.T) {
	f := newFixture()
	for n := range 3 * record.MaxEntries {
		if _, err := f.put(t, long(1), 1+n, strings.Repeat("h", 64)); err != nil {
			t.Fatal(err)
		}
	}
	rec := f.wantBounded(t, 64<<10)["r"]
	story := rec.Story()
	if len(story) != record.MaxEntries || story[0].Seq != 1 || story[1].Seq != 2*record.MaxEntries+2 || story[len(story)-1].Revision != 3*record.MaxEntries {
		t.Errorf("%d entries: %+v, %+v … %+v", len(story), story[0], story[1], story[len(story)-1])
	}
}

// bury has so many transactions undo what they never had: the first of them
// have their tombstones beside the record.
func (f *fixture) bury(t *testing.T, many int) {
	t.Helper()
	for n := range many {
		if err := f.del(t, long(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// Ensure one transaction costs no more than a write for its PUT, and a read and a
// write for its DELETE.
func TestTheCommonWayCostsNoMore(t *testing.T) {
	f := newFixture()
	if _, err := f.put(t, "a", 1, "x"); err != nil {
		t.Fatal(err)
	}
	if err := f.del(t, "a"); err != nil {
		t.Fatal(err)
	}
	for op, want := range map[recordtest.Op]int{recordtest.Read: 1, recordtest.Create: 1, recordtest.Replace: 1} {
		if got := f.script.Seen(op); got != want {
			t.Errorf("%d times %s, want %d", got, op, want)
		}
	}
}

// Ensure a tombstone is refused by at each moment of its move: whatever the
// database does to a write of it, and wherever the process dies.
func TestMovesAreSafe(t *testing.T) {
	for _, op := range []recordtest.Op{recordtest.Create, recordtest.Replace} { // of the one beside, of the record
		for _, fault := range []recordtest.Fault{recordtest.Fail, recordtest.Lost, recordtest.Conflict} {
			if op == recordtest.Create && fault == recordtest.Conflict {
				continue // it is there already: that is Lost
			}
			t.Run(fmt.Sprint(op, fault), func(t *testing.T) {
				f := newFixture()
				f.bury(t, record.MaxTombstones)
				f.script.Next(op, fault)
				err := f.del(t, "z")
				f.script.Clear()
				if conflict := fault == recordtest.Conflict; (err == nil) != conflict || !conflict && !failure.Is(err, failure.Transient) {
					t.Fatalf("delete: %v", err)
				}
				for n := range record.MaxTombstones {
					f.wantGone(t, long(n))
				}
				if err := f.del(t, "z"); err != nil {
					t.Fatalf("the repeat: %v", err)
				}
				f.wantGone(t, "z", long(0), long(1))
				if rec := f.wantBounded(t, 64<<10)["r"]; len(rec.Tombstones) != record.MaxTombstones {
					t.Errorf("%d tombstones", len(rec.Tombstones))
				}
			})
		}
	}
}

// Ensure a PUT that was judged before its undo, and is written after the
// tombstone was moved, is refused: the record is another by then.
func TestAFrozenPutIsFenced(t *testing.T) {
	for _, others := range []int{0, 1, record.MaxTombstones - 1, record.MaxTombstones, 3 * record.MaxTombstones} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			f := newFixture()
			thawed := false
			f.store.Before = func(op recordtest.Op, id string) recordtest.Fault {
				if (op == recordtest.Create || op == recordtest.Replace) && id == "r" && !thawed {
					thawed = true // it wakes up here
					if err := f.del(t, "frozen"); err != nil {
						t.Fatal(err)
					}
					f.bury(t, others)
				}
				return recordtest.None
			}
			if _, err := f.put(t, "frozen", 1, "x"); problem.From(err).Status != http.StatusGone {
				t.Errorf("it was answered %v", err)
			}
			if rec, err := f.keeper.Get(t.Context(), "r"); err != nil || rec.Live() {
				t.Errorf("it is there: %+v, %v", rec.TransactionID, err)
			}
		})
	}
}

// Ensure nothing comes back where many are at work, and calls come late.
func TestManyWritersAreFenced(t *testing.T) {
	f := newFixture()
	f.store.Before = nil
	by := func(n int) record.By { return record.By{TransactionID: long(n), Revision: 1} }
	put := func(ctx context.Context, n int) error {
		_, _, err := f.keeper.Put(ctx, "r", by(n), "h", func(*string) string { return "x" })
		return err
	}
	const writers, each = 4, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := w*each + i
				_ = put(t.Context(), n) // by chance
				for {
					err := f.keeper.Delete(t.Context(), "r", by(n))
					if err == nil {
						break
					}
					if !failure.Is(err, failure.Transient) {
						t.Error(err)
					}
				}
				for _, late := range []int{n, w * each} {
					var p *problem.Problem
					if err := put(t.Context(), late); err == nil || errors.As(err, &p) && p.Type != problem.Gone.ID && p.Type != record.OwnedByAnother.ID {
						t.Errorf("late put of %d: %v", late, err)
					}
				}
			}
		})
	}
	wg.Wait()
	if rec := f.wantBounded(t, 64<<10)["r"]; rec.Live() {
		t.Errorf("%s is there", rec.TransactionID)
	}
	for n := range writers * each {
		f.wantGone(t, long(n))
	}
}

// Ensure a document of before there was a bound is brought below it, and the
// tombstones that lie beside a record are forgotten in their time.
func TestOldDocumentsShrink(t *testing.T) {
	f := newFixture()
	now := f.keeper.Now()
	f.keeper.Now = func() time.Time { return now }
	old := record.Record[string]{ID: "r"}
	for n := range 3 * record.MaxTombstones {
		old.Tombstones = append(old.Tombstones, record.Tombstone{TransactionID: fmt.Sprint("old-", n), At: now})
	}
	if _, err := f.store.Create(t.Context(), "r", old); err != nil {
		t.Fatal(err)
	}
	f.bury(t, record.MaxTombstones)
	for n := range old.Tombstones {
		f.wantGone(t, fmt.Sprint("old-", n))
	}
	rec, err := f.keeper.Get(t.Context(), "r")
	if err != nil || len(rec.Tombstones) != record.MaxTombstones || rec.Beside.IsZero() {
		t.Errorf("%d tombstones, others until %v, %v", len(rec.Tombstones), rec.Beside, err)
	}
	now = now.Add(record.DefaultRetention)
	if err := f.del(t, "z"); err != nil {
		t.Fatal(err)
	}
	if rec, err = f.keeper.Get(t.Context(), "r"); err != nil || len(rec.Tombstones) != 1 || !rec.Beside.IsZero() {
		t.Errorf("%d tombstones, others until %v, %v", len(rec.Tombstones), rec.Beside, err)
	}
}
