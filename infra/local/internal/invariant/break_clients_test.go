package invariant

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

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
	{"operations", "started twice", "moved", "", operation("moved", 1, func(o *workflow.OperationRecord) { o.Kind = workflow.OperationStart })},
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
		s.Requests = append(s.Requests, ingest.RequestRecord{ID: "cancelled-first", TransactionID: "cancelled-first", OperationID: "another", Operation: workflow.OperationStart})
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
