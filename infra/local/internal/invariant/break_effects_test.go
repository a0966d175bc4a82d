package invariant

import (
	"encoding/json"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var ofEffects = []breakage{
	{"completed", "step", "far", "state", step("far", "drone", func(s *workflow.StepProgress) { s.State = workflow.StepPending })},
	{"completed", "step", "far", "revision", step("far", "drone", func(s *workflow.StepProgress) { s.Revision = 0 })},
	{"completed", "step", "far", "effect", step("far", "drone", func(s *workflow.StepProgress) { s.Effect = workflow.EffectMaybe })},
	{"completed", "step", "far", "missing", progress("far", func(p *workflow.Progress) { p.Steps = p.Steps[:4] })},
	{"completed", "missing", "far", "package", func(s *scene) { s.Packages = drop(s.Packages, recordOf(s.Packages, "p-far")) }},
	{"completed", "missing", "far", "booking", func(s *scene) { s.Bookings = drop(s.Bookings, recordOf(s.Bookings, "far")) }},
	{"completed", "missing", "far", "assignment", func(s *scene) { s.Assignments = drop(s.Assignments, recordOf(s.Assignments, "far")) }},
	{"completed", "missing", "far", "delivery", func(s *scene) { s.Deliveries = drop(s.Deliveries, recordOf(s.Deliveries, "far")) }},
	{"completed", "missing", "far", "another's", pack("p-far", func(r *record.Record[parcel.Content]) { r.TransactionID = "keyed" })},
	{"completed", "missing", "far", "nobody's", pack("p-far", func(r *record.Record[parcel.Content]) { r.TransactionID = "" })},
	{"completed", "doubled", "far", "", func(s *scene) {
		second := *recordOf(s.Packages, "p-far")
		second.ID = "p-second"
		s.Packages = append(s.Packages, second)
	}},
	{"confirmed", "half done", "far", "candidate", assignment("far", func(r *record.Record[drone.Assignment]) { r.Content.Candidate = &drone.Candidate{DroneID: "d"} })},
	{"confirmed", "half done", "far", "no drone", assignment("far", func(r *record.Record[drone.Assignment]) { r.Content.DroneID = "" })},
	{"customers", "account", "far", "no request", progress("far", func(p *workflow.Progress) { p.Request = json.RawMessage(`[]`) })},
	{"customers", "account", "far", "unreadable", step("far", "account", func(s *workflow.StepProgress) { s.Result = nil })},
	{"customers", "account", "far", "suspended", step("far", "account", func(s *workflow.StepProgress) { s.Result = json.RawMessage(`{"id":"owner-1","status":"suspended"}`) })},
	{"customers", "account", "far", "another", step("far", "account", func(s *workflow.StepProgress) { s.Result = json.RawMessage(`{"id":"owner-3","status":"active"}`) })},
	{"customers", "account", "far", "gone", func(s *scene) { s.Accounts = s.Accounts[1:] }},
	{"carrier", "carrier", "far", "not booked", func(s *scene) { recordOf(s.Bookings, "far").Content.BookingID = "" }},
	{"carrier", "carrier", "far", "not needed", func(s *scene) { recordOf(s.Bookings, "far").Content.Required = false }},
	{"carrier", "carrier", "keyed", "needed", func(s *scene) { recordOf(s.Bookings, "keyed").Content.Required = true }},
	{"carrier", "carrier", "keyed", "half booked", func(s *scene) { recordOf(s.Bookings, "keyed").Content.Carrier = "c" }},
	{"carrier", "carrier", "keyed", "distance", func(s *scene) { recordOf(s.Bookings, "keyed").Content.DistanceKm = 5 }},
	{"schedule", "other drone", "far", "", func(s *scene) { recordOf(s.Deliveries, "far").Content.DroneID = "zone-001-00099" }},
	{"schedule", "other times", "far", "depart", assignment("far", func(r *record.Record[drone.Assignment]) { r.Content.DepartAt = r.Content.DepartAt.Add(1) })},
	{"schedule", "other times", "far", "pickup", assignment("far", func(r *record.Record[drone.Assignment]) { r.Content.PickupAt = r.Content.PickupAt.Add(1) })},
	{"schedule", "other times", "far", "arrive", assignment("far", func(r *record.Record[drone.Assignment]) { r.Content.ArriveAt = r.Content.ArriveAt.Add(1) })},
	{"content", "revision", "moved", "of the effect", func(s *scene) { recordOf(s.Deliveries, "moved").Revision = 1 }},
	{"content", "revision", "moved", "of the transaction", progress("moved", func(p *workflow.Progress) { p.Revision = 4 })},
	{"content", "revision", "put-back", "lower", progress("put-back", func(p *workflow.Progress) { p.Revision = 1 })},
	{"content", "content", "moved", "asked", func(s *scene) { recordOf(s.Deliveries, "moved").Hash = "another" }},
	{"content", "content", "keyed", "held", pack("p-keyed", func(r *record.Record[parcel.Content]) { r.Content.WeightKg = 9 })},
	{"content", "content", "stuck", "held", pack("p-stuck", func(r *record.Record[parcel.Content]) { r.Content.WeightKg = 9 })},
	{"content", "content", "keyed", "no call", step("keyed", "drone", func(s *workflow.StepProgress) { s.Result = json.RawMessage(`[]`) })},
	{"content", "left", "far", "nothing was refused", progress("far", func(p *workflow.Progress) { p.Reason = "left as it was" })},
	{"content", "left", "left", "nobody is told", progress("left", func(p *workflow.Progress) { p.Reason = "" })},
	{"content", "left", "left", "another was refused", step("left", "drone", func(s *workflow.StepProgress) { s.Error = &workflow.StepError{Message: "other"} })},
	{"content", "revision", "left", "never tried", assignment("left", func(r *record.Record[drone.Assignment]) { r.Revision = 4 })},
	{"content", "revision", "left-unknown", "older", assignment("left-unknown", func(r *record.Record[drone.Assignment]) { r.Revision = 0 })},
	{"content", "content", "left", "other than its revision", assignment("left", func(r *record.Record[drone.Assignment]) { r.Hash = "another" })},
	{"content", "content", "left-unknown", "of another revision", assignment("left-unknown", func(r *record.Record[drone.Assignment]) { r.Revision = 1 })},
	{"content", "content", "left-before", "what came first", func(s *scene) {
		recordOf(s.Deliveries, "left-and-changed").Hash, recordOf(s.Bookings, "left-before").Hash = "x", "x"
	}},
	{"schedule", "other drone", "left-and-changed", "", func(s *scene) { recordOf(s.Deliveries, "left-and-changed").Content.DroneID = "d" }},
	{"content", "request", "far", "unreadable", progress("far", func(p *workflow.Progress) { p.Request = json.RawMessage(`{}`) })},
	{"content", "request", "moved", "another", progress("moved", func(p *workflow.Progress) {
		p.Request = json.RawMessage(string(p.Request[:len(p.Request)-1]) + `,"expedited":true}`)
		p.Request = json.RawMessage(replace(string(p.Request), `"expedited":false,`, ""))
	})},
	{"content", "request", "moved", "no change", func(s *scene) {
		found(s.Ledger, func(e *LedgerEntry) bool { return e.TransactionID == "moved" && e.Kind == workflow.OperationReschedule }).Body = json.RawMessage(`{}`)
	}},
	{"undone", "half done", "heavy", "live", pack("p-heavy", func(r *record.Record[parcel.Content]) { r.TransactionID = "heavy" })},
	{"undone", "half done", "heavy", "not undone", step("heavy", "package", func(s *workflow.StepProgress) { s.State = workflow.StepSucceeded })},
	{"undone", "half done", "suspended", "trace", func(s *scene) {
		r := recordOf(s.Packages, "p-far")
		journal(r, record.JournalEntry{Change: record.Created, TransactionID: "suspended"})
	}},
	{"undone", "half done", "suspended", "live", func(s *scene) {
		s.Packages = append(s.Packages, record.Record[parcel.Content]{ID: "p-odd", TransactionID: "suspended"})
	}},
	{"undone", "half done", "stuck", "not excused", func(s *scene) { delete(s.UndoRefused, "stuck") }},
	{"undone", "half done", "stuck", "lost", func(s *scene) { s.Packages = drop(s.Packages, recordOf(s.Packages, "p-stuck")) }},
	{"undone", "no tombstone", "cancelled", "", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Tombstones = nil })},
	{"undone", "no tombstone", "cancelled", "no record", func(s *scene) { s.Assignments = drop(s.Assignments, recordOf(s.Assignments, "cancelled")) }},
	{"undone", "nothing to undo", "cancelled", "", func(s *scene) {
		transaction(s, "cancelled").Step("drone").Effect = workflow.EffectNo
	}},
	{"undone", "undone", "far", "", assignment("far", func(r *record.Record[drone.Assignment]) {
		r.Tombstones = []record.Tombstone{{TransactionID: "far"}}
	})},
	{"owned", "orphan", "far", "live", func(s *scene) { s.Transactions = drop(s.Transactions, transaction(s, "far")) }},
	{"owned", "orphan", "heavy", "undone", func(s *scene) { s.Transactions = drop(s.Transactions, transaction(s, "heavy")) }},
	{"owned", "orphan", "late", "no journal", func(s *scene) {
		s.Packages = append(s.Packages, record.Record[parcel.Content]{ID: "p-odd", TransactionID: "late"})
	}},
	{"owned", "orphan", "late", "tombstone", pack("p-far", func(r *record.Record[parcel.Content]) {
		r.Tombstones = []record.Tombstone{{TransactionID: "late"}}
	})},
	{"owned", "orphan", "late", "journal", pack("p-heavy", func(r *record.Record[parcel.Content]) {
		journal(r, record.JournalEntry{Change: record.Created, TransactionID: "late"})
	})},
	{"owned", "orphan", "late", "intent", func(s *scene) {
		r := record.Record[drone.Assignment]{ID: "late"}
		r.Content.Candidate = &drone.Candidate{DroneID: "d", Zone: "z"}
		s.Assignments = append(s.Assignments, r)
	}},
	{"owned", "orphan", record.TombstoneID("p-nowhere", "far"), "beside nothing", func(s *scene) {
		s.Packages = append(s.Packages, record.Record[parcel.Content]{ID: record.TombstoneID("p-nowhere", "far"), TTL: 60})
	}},
	{"owned", "orphan", "late", "tombstone beside", func(s *scene) {
		recordOf(s.Packages, "p-shared").Tombstones[0].TransactionID = "late"
		moveTombstone(s, "p-shared", "late")
	}},
	{"owned", "not its own", "keyed", "", assignment("far", func(r *record.Record[drone.Assignment]) { r.TransactionID = "keyed" })},
	{"owned", "nobody asked", "far", "", assignment("far", func(r *record.Record[drone.Assignment]) { r.Journal[0].OperationID = "op" })},
}
