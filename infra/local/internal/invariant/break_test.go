package invariant

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// breakage is a valid snapshot with one thing made wrong, and how a rule has to
// tell of it.
type breakage struct {
	rule, what, id string
	about          string // tells two with the same words apart
	do             func(s *scene)
}

func transaction(s *scene, id string) *workflow.Progress {
	return found(s.Transactions, func(p *workflow.Progress) bool { return p.ID == id })
}

func kept(s *scene, id string) *ingest.Request {
	return found(s.Requests, func(r *ingest.Request) bool { return r.ID == id })
}

func recordOf[T any](all []record.Record[T], id string) *record.Record[T] {
	return found(all, func(r *record.Record[T]) bool { return r.ID == id })
}

// droneOf returns the drone that is held for a transaction.
func droneOf(s *scene, transactionID string) *drone.Drone {
	return found(s.Drones, func(d *drone.Drone) bool { _, held := d.HoldOf(transactionID); return held })
}

func found[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	panic("it is not in the valid snapshot")
}

// drop returns all without the one.
func drop[T any](all []T, one *T) []T {
	for i := range all {
		if &all[i] == one {
			return slices.Delete(all, i, i+1)
		}
	}
	panic("it is not in the valid snapshot")
}

func progress(id string, change func(p *workflow.Progress)) func(*scene) {
	return func(s *scene) { change(transaction(s, id)) }
}

func step(id, name string, change func(*workflow.StepProgress)) func(*scene) {
	return progress(id, func(p *workflow.Progress) { change(p.Step(name)) })
}

func operation(id string, n int, change func(*workflow.OperationRecord)) func(*scene) {
	return progress(id, func(p *workflow.Progress) { change(&p.Operations[n]) })
}

// notTaken is the operation that is on record outside since its transaction was
// full.
func notTaken(s *scene) *workflow.OutsideOperation {
	return found(s.Outside, func(o *workflow.OutsideOperation) bool { return o.TransactionID == "full" })
}

// outside changes it.
func outside(change func(*workflow.OutsideOperation)) func(*scene) {
	return func(s *scene) { change(notTaken(s)) }
}

// makeRoom leaves so many operations in the full transaction, and makes the one
// outside one of that kind and body.
func makeRoom(s *scene, left int, kind workflow.OperationKind, body json.RawMessage) *workflow.Progress {
	p := transaction(s, "full")
	for _, o := range p.Operations[left:] { // their clients don't exist
		s.Ledger = slices.DeleteFunc(s.Ledger, func(e LedgerEntry) bool { return e.OperationID == o.ID })
	}
	p.Operations = p.Operations[:left]
	o := notTaken(s)
	o.Operation = kind
	e := found(s.Ledger, func(e *LedgerEntry) bool { return e.OperationID == o.OperationID })
	e.Kind, e.Body = kind, body
	return p
}

const aChange = `{"deliverBy":"2026-03-01T00:00:00Z"}`

func pack(id string, change func(*record.Record[parcel.Content])) func(*scene) {
	return func(s *scene) { change(recordOf(s.Packages, id)) }
}

func assignment(id string, change func(*record.Record[drone.Assignment])) func(*scene) {
	return func(s *scene) { change(recordOf(s.Assignments, id)) }
}

// journal adds an entry behind the last one, with the next number.
func journal[T any](r *record.Record[T], e record.Entry) {
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

// breakages are of the transactions that valid makes.
var breakages = slices.Concat(ofClients, ofEffects, ofJournals, ofRest)

var ofClients = []breakage{
	{"accepted", "lost", "plain-0-0", "", func(s *scene) { s.Transactions = drop(s.Transactions, transaction(s, "plain-0-0")) }},
	{"accepted", "open", "moved", "", progress("moved", func(p *workflow.Progress) { p.State = workflow.Running })},
	{"accepted", "open", "heavy", "unknown", progress("heavy", func(p *workflow.Progress) { p.State = "Dreaming" })},
	{"accepted", "stuck", "stuck", "", func(s *scene) { delete(s.UndoRefused, "stuck") }},
	{"accepted", "given up", "given-up", "", progress("given-up", func(p *workflow.Progress) { p.History[len(p.History)-1].By = "" })},
	{"operations", "operation lost", "moved", "", progress("moved", func(p *workflow.Progress) { p.Operations = p.Operations[:2] })},
	{"operations", "operation lost", "plain-0-0", "with its transaction", func(s *scene) {
		s.Transactions = drop(s.Transactions, transaction(s, "plain-0-0"))
	}},
	{"operations", "operation lost", "plain-0-1", "not in the quarantine", func(s *scene) {
		s.Quarantine = drop(s.Quarantine, found(s.Quarantine, func(e *quarantine.Entry) bool { return e.TransactionID == "plain-0-1" }))
	}},
	{"operations", "operation lost", "plain-0-1", "only a dead letter", func(s *scene) {
		found(s.Quarantine, func(e *quarantine.Entry) bool { return e.TransactionID == "plain-0-1" }).Source = "deliveries.deadletter"
	}},
	{"operations", "operation lost", "full", "not outside", func(s *scene) { s.Outside = nil }},
	{"operations", "operation lost", "full", "outside of another", outside(func(o *workflow.OutsideOperation) { o.TransactionID = "far" })},
	{"operations", "operation changed", "full", "outside", outside(func(o *workflow.OutsideOperation) { o.Operation = workflow.OperationReschedule })},
	{"operations", "operation open", "full", "outside", outside(func(o *workflow.OutsideOperation) { o.State = workflow.OperationPending })},
	{"operations", "operation open", "full", "no end outside", outside(func(o *workflow.OutsideOperation) { o.EndedAt = workflow.Instant{} })},
	{"operations", "no reason", "full", "outside", outside(func(o *workflow.OutsideOperation) { o.Reason = "" })},
	{"operations", "operation misplaced", "full", "", outside(func(o *workflow.OutsideOperation) { o.ID = o.OperationID })},
	{"operations", "two ends", "full", "", func(s *scene) {
		p := transaction(s, "full")
		p.Operations = append(p.Operations, workflow.OperationRecord{ID: notTaken(s).OperationID, Kind: workflow.OperationCancel,
			State: workflow.OperationSuperseded, Reason: "cancelled", EndedAt: p.EndedAt})
	}},
	{"operations", "operation changed", "cancelled", "", operation("cancelled", 2, func(o *workflow.OperationRecord) { o.Kind = workflow.OperationReschedule })},
	{"operations", "operation doubled", "moved", "", progress("moved", func(p *workflow.Progress) { p.Operations = append(p.Operations, p.Operations[1]) })},
	{"operations", "operation open", "put-back", "pending", operation("put-back", 1, func(o *workflow.OperationRecord) { o.State = workflow.OperationPending })},
	{"operations", "operation open", "put-back", "no end", operation("put-back", 1, func(o *workflow.OperationRecord) { o.EndedAt = workflow.Instant{} })},
	{"operations", "operation open", "put-back", "unknown", operation("put-back", 1, func(o *workflow.OperationRecord) { o.State = "Dreaming" })},
	{"operations", "operation open", "unanswered", "nobody's", operation("unanswered", 0, func(o *workflow.OperationRecord) { o.State = workflow.OperationPending })},
	{"operations", "no reason", "overtaken", "", operation("overtaken", 1, func(o *workflow.OperationRecord) { o.Reason = "" })},
	{"operations", "delivered twice", "moved", "", operation("moved", 1, func(o *workflow.OperationRecord) { o.Kind = workflow.OperationStart })},
	{"operations", "outcome", "far", "", operation("far", 0, func(o *workflow.OperationRecord) { o.State, o.Reason = workflow.OperationRefused, "no" })},
	{"operations", "outcome", "suspended", "", operation("suspended", 0, func(o *workflow.OperationRecord) { o.State = workflow.OperationApplied })},
	{"operations", "outcome", "cancelled", "", operation("cancelled", 1, func(o *workflow.OperationRecord) { o.State, o.Reason = workflow.OperationRefused, "no" })},
	{"room", "refused for nothing", "full", "one less", func(s *scene) {
		makeRoom(s, workflow.MaxOperations, workflow.OperationCancel, nil)
	}},
	{"room", "refused for nothing", "full", "a change", func(s *scene) { makeRoom(s, 3, workflow.OperationReschedule, json.RawMessage(aChange)) }},
	{"room", "refused for nothing", "owned", "the owner's", func(s *scene) { s.Outside[0].Caller = "ada" }},
	{"unanswered", "open", "unanswered", "", progress("unanswered", func(p *workflow.Progress) { p.State = workflow.Compensating })},
	{"requests", "request", "keyed", "answer", func(s *scene) { kept(s, "keyed").OperationID = "another" }},
	{"requests", "request", "cancelled-first", "answer of one that was not carried out", func(s *scene) {
		s.Requests = append(s.Requests, ingest.Request{ID: "cancelled-first", TransactionID: "cancelled-first", OperationID: "another", Operation: workflow.OperationStart})
	}},
	{"requests", "request", "keyed", "content", func(s *scene) { kept(s, "keyed").Hash = "another" }},
	{"requests", "request", "keyed", "content, and a repeat of which nobody knows it", func(s *scene) {
		again := *found(s.Ledger, func(e *LedgerEntry) bool { return e.TransactionID == "keyed" })
		again.Body = nil
		s.Ledger = append(s.Ledger, again)
		kept(s, "keyed").Hash = "another"
	}},
	{"requests", "request", "keyed", "place", func(s *scene) { kept(s, "keyed").ID = "another" }},
	{"requests", "request", "moved", "change", func(s *scene) { kept(s, ingest.KeyPrefix+"of-moved").Hash = "another" }},
	{"requests", "request", "moved", "place of a change", func(s *scene) { kept(s, ingest.KeyPrefix+"of-moved").ID = "moved" }},
	{"requests", "request", "moved", "unreadable change", func(s *scene) {
		found(s.Ledger, func(e *LedgerEntry) bool { return e.OperationID == kept(s, ingest.KeyPrefix+"of-moved").OperationID }).Body = json.RawMessage(`{}`)
	}},
	{"requests", "request", "keyed", "unreadable", func(s *scene) {
		found(s.Ledger, func(e *LedgerEntry) bool { return e.TransactionID == "keyed" }).Body = json.RawMessage(`{}`)
	}},
	{"history", "history", "far", "none", progress("far", func(p *workflow.Progress) { p.History = nil })},
	{"history", "history", "far", "state", progress("far", func(p *workflow.Progress) { p.History = p.History[:1] })},
	{"history", "history", "far", "time", progress("far", func(p *workflow.Progress) { p.EndedAt = workflow.At(p.EndedAt.Add(time.Second)) })},
	{"history", "history", "heavy", "after the end", progress("heavy", func(p *workflow.Progress) { p.History = append(p.History, p.History[len(p.History)-1]) })},
	{"history", "history", "far", "started twice", progress("far", func(p *workflow.Progress) { p.History = append(p.History[:1:1], p.History...) })},
}

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
		journal(r, record.Entry{Change: record.Created, TransactionID: "suspended"})
	}},
	{"undone", "half done", "suspended", "live", func(s *scene) {
		s.Packages = append(s.Packages, record.Record[parcel.Content]{ID: "p-odd", TransactionID: "suspended"})
	}},
	{"undone", "half done", "stuck", "not excused", func(s *scene) { delete(s.UndoRefused, "stuck") }},
	{"undone", "half done", "stuck", "lost", func(s *scene) { s.Packages = drop(s.Packages, recordOf(s.Packages, "p-stuck")) }},
	{"undone", "no tombstone", "cancelled", "", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Tombstones = nil })},
	{"undone", "no tombstone", "cancelled", "no record", func(s *scene) { s.Assignments = drop(s.Assignments, recordOf(s.Assignments, "cancelled")) }},
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
		journal(r, record.Entry{Change: record.Created, TransactionID: "late"})
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

var ofJournals = []breakage{
	{"journals", "gap", "moved", "", func(s *scene) { recordOf(s.Deliveries, "moved").Journal[1].Seq = 3 }},
	{"journals", "gap", "far", "first", assignment("far", func(r *record.Record[drone.Assignment]) { r.Journal[0].Seq = 2 })},
	{"journals", "created twice", "far", "", assignment("far", func(r *record.Record[drone.Assignment]) {
		journal(r, record.Entry{Change: record.Created, Revision: 1})
	})},
	{"journals", "created twice", "heavy", "again", pack("p-heavy", func(r *record.Record[parcel.Content]) {
		journal(r, record.Entry{Change: record.Created, Revision: 2})
		journal(r, record.Entry{Change: record.Deleted, Revision: 2})
	})},
	{"journals", "created twice", "taken", "for another", func(s *scene) {
		r := recordOf(s.Packages, "p-far")
		journal(r, record.Entry{Change: record.Created, TransactionID: "taken", Revision: 1})
	}},
	{"journals", "changed twice", "moved", "", func(s *scene) {
		r := recordOf(s.Deliveries, "moved")
		journal(r, record.Entry{Change: record.Changed, Revision: r.Revision})
	}},
	{"journals", "journal", "keyed", "another's", pack("p-far", func(r *record.Record[parcel.Content]) {
		journal(r, record.Entry{Change: record.Changed, TransactionID: "keyed", Revision: 2})
	})},
	{"journals", "journal", "far", "unknown", pack("p-far", func(r *record.Record[parcel.Content]) { journal(r, record.Entry{Change: "moved", Revision: 2}) })},
	{"journals", "journal", "far", "not created", pack("p-far", func(r *record.Record[parcel.Content]) { r.Journal = nil })},
	{"journals", "journal", "far", "deleted", pack("p-far", func(r *record.Record[parcel.Content]) { journal(r, record.Entry{Change: record.Deleted, Revision: 1}) })},
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
	{"flights", "two at a time", "flying-1", "", func(s *scene) {
		first, second := recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		second.Content.DroneID, second.Content.Zone = first.Content.DroneID, first.Content.Zone
	}},
	{"flights", "two at a time", "flying-0", "not yet back", func(s *scene) {
		first, second := recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		second.Content.DroneID, second.Content.Zone = first.Content.DroneID, first.Content.Zone
		second.Content.DepartAt = first.Content.DepartAt.Add(-time.Second)
		second.Content.ArriveAt = first.Content.DepartAt.Add(time.Millisecond)
	}},
	{"flights", "two at a time", "flying-1", "inside a longer one", func(s *scene) {
		longest, first, second := recordOf(s.Assignments, "plain-0-0"), recordOf(s.Assignments, "flying-0"), recordOf(s.Assignments, "flying-1")
		for _, r := range []*record.Record[drone.Assignment]{first, second} {
			r.Content.DroneID, r.Content.Zone = longest.Content.DroneID, longest.Content.Zone
		}
		longest.Content.ArriveAt = s.Now.Add(time.Hour)
		first.Content.ArriveAt = first.Content.DepartAt.Add(time.Millisecond)
	}},
	{"packages", "two drones", "flying-1", "both live", func(s *scene) {
		recordOf(s.Assignments, "flying-1").Content.PackageDetail.ID = recordOf(s.Assignments, "flying-0").Content.PackageDetail.ID
	}},
	{"packages", "two drones", "second-owner", "undone after the pickup", assignment("first-owner", pickedUpBeforeTheUndo)},
	{"grounded", "undone in the air", "cancelled", "", assignment("cancelled", pickedUpBeforeTheUndo)},
	{"grounded", "undone in the air", "cancelled", "somebody was told so", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.Content.PickedUp = true })},
	{"grounded", "taken back", "far", "nothing was picked up", func(s *scene) {
		takeBack(s, "far")
		recordOf(s.Assignments, "far").Content.PickedUp = false
	}},
	{"grounded", "taken back", "far", "the cancel is not refused", func(s *scene) {
		takeBack(s, "far")
		transaction(s, "far").Operations[1].State = workflow.OperationSuperseded
	}},
	{"accepted", "stuck", "stuck", "refused otherwise in the air", func(s *scene) {
		stickInTheAir(s)
		transaction(s, "stuck").Step("drone").UndoError.Type = "other"
	}},
	{"accepted", "stuck", "stuck", "refused on the ground", func(s *scene) {
		stickInTheAir(s)
		recordOf(s.Assignments, "stuck").Content.PickedUp = false
	}},
	{"grounded", "flies", "cancelled", "", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.TransactionID = r.ID })},
	{"grounded", "package let go", "flying-0", "", pack("p-flying-0", func(r *record.Record[parcel.Content]) {
		journal(r, record.Entry{Change: record.Deleted, Revision: 1})
	})},
	{"drones", "no drone", "far", "", func(s *scene) {
		flight := recordOf(s.Assignments, "far").Content
		s.Drones = drop(s.Drones, found(s.Drones, func(d *drone.Drone) bool { return d.ID == flight.DroneID }))
	}},
	{"drones", "drone lost", "flying-0", "", func(s *scene) { *droneOf(s, "flying-0") = free(droneOf(s, "flying-0")) }},
	{"drones", "held for nobody", "heavy", "", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.TransactionID = "heavy" }) }},
	{"drones", "held for nobody", "cancelled", "undone", func(s *scene) {
		flight := recordOf(s.Assignments, "cancelled").Content
		d := found(s.Drones, func(d *drone.Drone) bool { return d.ID == flight.DroneID })
		window := drone.Window{From: flight.DepartAt.UnixMilli(), Until: flight.ArriveAt.UnixMilli()}
		d.Holds = []drone.Hold{{TransactionID: "cancelled", Window: window}}
		d.BusyUntil = window.Until
	}},
	{"drones", "held for nobody", "flying-1", "swapped", func(s *scene) {
		a, b := droneOf(s, "flying-0"), droneOf(s, "flying-1")
		a.Holds, b.Holds, a.BusyUntil, b.BusyUntil = b.Holds, a.Holds, b.BusyUntil, a.BusyUntil
	}},
	{"drones", "held for nobody", "zone-000-00000", "nobody at all", func(s *scene) {
		d := found(s.Drones, func(d *drone.Drone) bool { return d.ID == "zone-000-00000" })
		d.Holds, d.BusyUntil = nil, 1
	}},
	{"drones", "held twice", "flying-1", "", func(s *scene) {
		first, second := droneOf(s, "flying-0"), droneOf(s, "flying-1")
		first.Holds = append(first.Holds, second.Holds...)
		first.BusyUntil = max(first.BusyUntil, second.BusyUntil)
		second.Holds, second.BusyUntil = nil, 0
		recordOf(s.Assignments, "flying-1").Content.DroneID = first.ID
	}},
	{"drones", "held for another time", "flying-0", "shorter", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.Until-- }) }},
	{"drones", "held for another time", "flying-0", "longer", func(s *scene) { hold(s, "flying-0", func(h *drone.Hold) { h.Until++ }) }},
	{"drones", "held for another time", "flying-0", "later", func(s *scene) {
		hold(s, "flying-0", func(h *drone.Hold) { h.From = recordOf(s.Assignments, "flying-0").Content.DepartAt.UnixMilli() + 1 })
	}},
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

// hold changes the last hold of the drone that is held for a transaction.
func hold(s *scene, transactionID string, change func(*drone.Hold)) {
	d := droneOf(s, transactionID)
	d.Holds = slices.Clone(d.Holds)
	h := &d.Holds[len(d.Holds)-1]
	change(h)
	d.BusyUntil = h.Until
}

// pickedUpBeforeTheUndo makes an assignment that was undone one that was undone
// at its pickup.
func pickedUpBeforeTheUndo(r *record.Record[drone.Assignment]) {
	r.Content.PickupAt = found(r.Journal, func(e *record.Entry) bool { return e.Change == record.Deleted && e.TransactionID == r.ID }).At
}

// takeBack has a cancel of a completed transaction come too late: its drone has
// picked up.
func takeBack(s *scene, id string) {
	p := transaction(s, id)
	for _, e := range []workflow.Entry{
		{Event: workflow.EventCompensate, State: workflow.Compensating}, {Event: workflow.EventResume, State: workflow.Running},
		{Event: workflow.EventComplete, State: workflow.Completed},
	} {
		e.At = p.EndedAt
		p.History = append(p.History, e)
	}
	p.Operations = append(p.Operations, workflow.OperationRecord{ID: "op-x", Kind: workflow.OperationCancel,
		State: workflow.OperationRefused, Reason: "it is picked up", Revision: 1, EndedAt: p.EndedAt})
	p.Outbox.Count++
	recordOf(s.Assignments, id).Content.PickedUp = true
}

// stickInTheAir has a transaction stuck since its drone has picked up, not because
// of a fault.
func stickInTheAir(s *scene) {
	delete(s.UndoRefused, "stuck")
	transaction(s, "stuck").Step("drone").UndoError = &workflow.StepError{Status: 409, Type: record.CannotUndo.ID, Message: "it is picked up"}
	recordOf(s.Assignments, "stuck").Content.PickedUp = true
}

// free returns a drone that nobody holds.
func free(d *drone.Drone) drone.Drone { return drone.Drone{ID: d.ID, Zone: d.Zone} }

var ofRest = []breakage{
	{"readable", "unreadable", "drone-delivery", "", func(s *scene) {
		s.spoil = func(s *Snapshot) { s.Others[delivery.DronesContainer][0] = []byte(`{"id":7}`) }
	}},
	{"quarantine", "poison lost", BodyHash([]byte(`{"schema":1}`)), "", func(s *scene) { s.Quarantine = drop(s.Quarantine, &s.Quarantine[1]) }},
	{"quarantine", "not poison", "hub.0.0", "", func(s *scene) { s.Quarantine[0].SetBody([]byte("another")) }},
	{"quarantine", "not poison", "far", "a transaction's", func(s *scene) {
		e := quarantine.Entry{ID: "q.deadletter.1", Source: "q.deadletter", TransactionID: "far"}
		e.SetBody([]byte(`{"transactionId":"far"}`))
		s.Quarantine = append(s.Quarantine, e)
	}},
	{"quarantine", "not poison", "far", "a dead letter that nobody can read", func(s *scene) {
		e := quarantine.Entry{ID: "deliveries.deadletter.9", Source: "deliveries.deadletter", TransactionID: "far"}
		e.SetBody([]byte(`{"transactionId":"far"}`))
		s.Quarantine = append(s.Quarantine, e)
	}},
	{"quarantine", "not poison", "nobody", "a dead letter of no transaction", func(s *scene) {
		s.Quarantine = append(s.Quarantine, entryFor("deliveries.deadletter", 2, engine.Envelope{TransactionID: "nobody", Wake: 1}))
	}},
	{"quarantine", "not poison", "far", "a wake that found no transaction", func(s *scene) {
		s.Quarantine = append(s.Quarantine, entryFor("compensations", 1, engine.Envelope{TransactionID: "far", Wake: 1}))
	}},
	{"quarantine", "not on record", "keyed", "", progress("keyed", func(p *workflow.Progress) { p.Operations = nil })},
	{"quarantine", "quarantine", "hub.0.0", "twice", func(s *scene) { s.Quarantine = append(s.Quarantine, s.Quarantine[0]) }},
	{"quarantine", "quarantine", "hub.0.0", "unreadable", func(s *scene) { s.Quarantine[0].Encoding = "rot13" }},
	{"deadletters", "dead letters", "deliveries", "", func(s *scene) { s.Queues[0].DeadLetters = 1 }},
	{"wakes", "wake left", "far", "time", progress("far", func(p *workflow.Progress) { p.WakeAt = p.EndedAt })},
	{"wakes", "wake left", "stuck", "queue", progress("stuck", func(p *workflow.Progress) { p.WakeQueue = workflow.QueueTransactions })},
	{"wakes", "no wake", "far", "", progress("far", func(p *workflow.Progress) { p.State = workflow.Running })},
	{"wakes", "overdue", "far", "", progress("far", func(p *workflow.Progress) { p.State, p.WakeAt = workflow.Running, p.EndedAt })},
	{"leases", "lease left", "far", "runner", progress("far", func(p *workflow.Progress) { p.Lease.Runner = "r" })},
	{"leases", "lease left", "stuck", "time", progress("stuck", func(p *workflow.Progress) { p.Lease.Until = p.AcceptedAt })},
	{"leases", "in flight", "far", "", step("far", "drone", func(s *workflow.StepProgress) { s.State = workflow.StepStarted })},
	{"lifetimes", "lifetime", "far", "for ever", progress("far", func(p *workflow.Progress) { p.TTL = 0 })},
	{"lifetimes", "lifetime", "full", "an operation outside", outside(func(o *workflow.OutsideOperation) { o.TTL = 0 })},
	{"lifetimes", "lifetime", record.TombstoneID("p-shared", "first-owner"), "beside", func(s *scene) {
		moveTombstone(s, "p-shared", "first-owner")
		s.Packages[len(s.Packages)-1].TTL = 0
	}},
	{"lifetimes", "lifetime", "stuck", "lost", progress("stuck", func(p *workflow.Progress) { p.TTL = 1 })},
	{"lifetimes", "lifetime", "far", "live", assignment("far", func(r *record.Record[drone.Assignment]) { r.TTL = 1 })},
	{"lifetimes", "lifetime", "far", "live for ever", assignment("far", func(r *record.Record[drone.Assignment]) { r.TTL = 0 })},
	{"lifetimes", "lifetime", "cancelled", "undone", assignment("cancelled", func(r *record.Record[drone.Assignment]) { r.TTL = 0 })},
	{"notices", "not told", "far", "", progress("far", func(p *workflow.Progress) { p.Outbox.Notices = []workflow.Notice{{Number: 1}} })},
	{"notices", "not told", "far", "due", progress("far", func(p *workflow.Progress) { p.Outbox.At = p.EndedAt })},
	{"notices", "notices", "moved", "none", progress("moved", func(p *workflow.Progress) { p.Outbox.Count-- })},
	{"sizes", "too large", "far", "", func(s *scene) {
		found(s.Documents, func(d *Document) bool { return d.ID == "far" && d.Container == cosmosdb.TransactionsContainer }).Bytes = bounds[cosmosdb.TransactionsContainer] + 1
	}},
	{"sizes", "too large", "p-far", "tombstones without a bound", func(s *scene) {
		r := recordOf(s.Packages, "p-far")
		for n := range 1000 {
			r.Tombstones = append(r.Tombstones, record.Tombstone{TransactionID: fmt.Sprint("cancelled-", n), At: s.Now})
		}
		s.Documents = append(s.Documents, measured(delivery.PackagesContainer, []record.Record[parcel.Content]{*r}, idOf)...)
	}},
	{"sizes", "too large", "odd", "of no bound", func(s *scene) {
		s.Documents = append(s.Documents, Document{Container: "others", ID: "odd", Bytes: 1})
	}},
	{"notices", "notices", "moved", "one more", progress("moved", func(p *workflow.Progress) { p.Outbox.Count++ })},
}
