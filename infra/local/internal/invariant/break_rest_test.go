package invariant

import (
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

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
