package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
)

var ofJournals = []breakage{
	{"journals", "gap", "moved", "", func(s *scene) { recordOf(s.Deliveries, "moved").Journal[1].Seq = 3 }},
	{"journals", "gap", "far", "first", assignment("far", func(r *record.Record[drone.Assignment]) { r.Journal[0].Seq = 2 })},
	{"journals", "created twice", "far", "", assignment("far", func(r *record.Record[drone.Assignment]) {
		journal(r, record.JournalEntry{Change: record.Created, Revision: 1})
	})},
	{"journals", "created twice", "heavy", "again", pack("p-heavy", func(r *record.Record[parcel.Content]) {
		journal(r, record.JournalEntry{Change: record.Created, Revision: 2})
		journal(r, record.JournalEntry{Change: record.Deleted, Revision: 2})
	})},
	{"journals", "created twice", "taken", "for another", func(s *scene) {
		r := recordOf(s.Packages, "p-far")
		journal(r, record.JournalEntry{Change: record.Created, TransactionID: "taken", Revision: 1})
	}},
	{"journals", "changed twice", "moved", "", func(s *scene) {
		r := recordOf(s.Deliveries, "moved")
		journal(r, record.JournalEntry{Change: record.Changed, Revision: r.Revision})
	}},
	{"journals", "journal", "keyed", "another's", pack("p-far", func(r *record.Record[parcel.Content]) {
		journal(r, record.JournalEntry{Change: record.Changed, TransactionID: "keyed", Revision: 2})
	})},
	{"journals", "journal", "far", "unknown", pack("p-far", func(r *record.Record[parcel.Content]) { journal(r, record.JournalEntry{Change: "moved", Revision: 2}) })},
	{"journals", "journal", "far", "not created", pack("p-far", func(r *record.Record[parcel.Content]) { r.Journal = nil })},
	{"journals", "journal", "far", "deleted", pack("p-far", func(r *record.Record[parcel.Content]) {
		journal(r, record.JournalEntry{Change: record.Deleted, Revision: 1})
	})},
	{"journals", "journal", "cancelled", "deleted lower", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Journal[1].Revision = 0 })},
	{"journals", "journal", "cancelled", "deleted other", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Journal[1].Hash = "another" })},
	{"journals", "journal", "moved", "last revision", func(s *scene) { recordOf(s.Deliveries, "moved").Journal[2].Revision = 9 }},
	{"journals", "journal", "moved", "last hash", func(s *scene) { recordOf(s.Deliveries, "moved").Journal[2].Hash = "another" }},
	{"journals", "undone", "far", "", assignment("far", func(r *record.Record[drone.Assignment]) {
		r.Tombstones = []record.Tombstone{{TransactionID: "far"}}
	})},
	{"journals", "undone twice", "cancelled", "", assignment("cancelled", func(r *record.Record[drone.Assignment]) {
		r.Tombstones = append(r.Tombstones, r.Tombstones[0])
	})},
	{"journals", "undone", "far", "beside", func(s *scene) {
		s.Packages = append(s.Packages, record.Record[parcel.Content]{
			ID: record.TombstoneID("p-far", "far"), Tombstones: []record.Tombstone{{TransactionID: "far"}}, TTL: 60,
		})
	}},
	{"journals", "no tombstone", "first-owner", "", pack("p-shared", func(r *record.Record[parcel.Content]) {
		r.Tombstones = slices.DeleteFunc(r.Tombstones, func(t record.Tombstone) bool { return t.TransactionID == "first-owner" })
	})},
}

// journal adds an entry behind the last one, with the next number.
func journal[T any](r *record.Record[T], e record.JournalEntry) {
	last := r.Journal[len(r.Journal)-1]
	e.Seq = last.Seq + 1
	if e.TransactionID == "" {
		e.TransactionID = last.TransactionID
	}
	if e.Hash == "" {
		e.Hash = last.Hash
	}
	e.OperationID = last.OperationID
	r.Journal = append(r.Journal, e)
}

// moveTombstone moves a transaction's tombstone from the record of a package into
// a document beside it.
func moveTombstone(s *scene, id, transactionID string) {
	r := recordOf(s.Packages, id)
	i := slices.IndexFunc(r.Tombstones, func(t record.Tombstone) bool { return t.TransactionID == transactionID })
	stone := r.Tombstones[i]
	r.Tombstones = slices.Delete(r.Tombstones, i, i+1)
	s.Packages = append(s.Packages, record.Record[parcel.Content]{
		ID: record.TombstoneID(id, transactionID), Tombstones: []record.Tombstone{stone}, TTL: 60,
	})
}
