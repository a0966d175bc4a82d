package invariant

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// breakOf makes one thing wrong in a snapshot of any business, so that a rule has to
// find it. It returns the id of that violation, "" if there is no place for it. It may
// change the elements of lists, but nothing that they refer to.
type breakOf struct {
	rule, what string
	do         func(x *index) (id string)
}

// breaks are one at least for each of the rules of every business.
var breaks = []breakOf{
	{"accepted", "lost", func(x *index) string {
		return x.breakOne(x.answered, func(p *workflow.Progress) {
			id := p.ID
			x.Transactions = slices.DeleteFunc(x.Transactions, func(p workflow.Progress) bool { return p.ID == id })
		})
	}},
	{"operations", "operation lost", func(x *index) string {
		known := func(p *workflow.Progress) bool {
			return len(p.Operations) > 0 && x.ledger[p.ID][p.Operations[0].ID] != nil && !x.quarantined[p.Operations[0].ID] && x.outside[p.Operations[0].ID] == nil
		}
		return x.breakOne(known, func(p *workflow.Progress) { p.Operations = p.Operations[1:] })
	}},
	{"room", "refused for nothing", func(x *index) string {
		roomy := func(p *workflow.Progress) bool { return p.State.Final() && len(p.Operations) < 5 }
		return x.breakOne(roomy, func(p *workflow.Progress) {
			x.Outside = append(x.Outside, workflow.OutsideOperation{
				ID: workflow.OutsideID("broken"), OperationID: "broken", TransactionID: p.ID, Caller: p.Caller,
				Operation: workflow.OperationCancel, State: workflow.OperationRefused, Reason: "broken", EndedAt: p.EndedAt, TTL: 1,
			})
		})
	}},
	{"unanswered", "open", func(x *index) string {
		return x.breakOne(x.answered, func(p *workflow.Progress) {
			p.State = workflow.Running
			id := p.ID
			x.Ledger = slices.DeleteFunc(x.Ledger, func(e LedgerEntry) bool { return e.TransactionID == id })
		})
	}},
	{"requests", "request", func(x *index) string {
		for i := range x.Requests {
			r := &x.Requests[i]
			if e := x.ledger[r.TransactionID][r.OperationID]; e != nil && e.Body != nil {
				r.Hash = "broken"
				return r.TransactionID
			}
		}
		return ""
	}},
	{"history", "history", func(x *index) string {
		return x.breakOne(final, func(p *workflow.Progress) { p.History = nil })
	}},
	{"completed", "missing", func(x *index) string {
		return x.breakEffect(func(container string, r *record.Record[json.RawMessage]) {
			id := r.ID
			x.Records[container] = slices.DeleteFunc(x.Records[container], func(r record.Record[json.RawMessage]) bool { return r.ID == id })
		})
	}},
	{"content", "revision", func(x *index) string {
		return x.breakEffect(func(_ string, r *record.Record[json.RawMessage]) { r.Revision += 100 })
	}},
	{"undone", "half done", func(x *index) string { return x.breakUndone() }},
	{"owned", "orphan", func(x *index) string {
		return x.breakEffect(func(_ string, r *record.Record[json.RawMessage]) { r.TransactionID = "broken" }, "broken")
	}},
	{"journals", "gap", func(x *index) string {
		return x.breakEffect(func(_ string, r *record.Record[json.RawMessage]) {
			r.Journal = slices.Clone(r.Journal)
			r.Journal[len(r.Journal)-1].Seq += 100
		})
	}},
	{"shards", "two shards", func(x *index) string {
		return x.breakOne(x.answered, func(p *workflow.Progress) {
			x.Further = append(x.Further, Part{Shard: math.MaxUint16, Transactions: []string{p.ID}})
			x.Transactions = append(x.Transactions, *p)
		})
	}},
	{"shards", "lost from sight", func(x *index) string {
		for i, r := range x.Requests {
			if in := x.shardsOf()[r.TransactionID]; r.ID == r.TransactionID && !shard.Formed(r.ID) && len(in) == 1 && in[0] != shard.First {
				x.Requests = slices.Delete(x.Requests, i, i+1)
				return r.ID
			}
		}
		return ""
	}},
	{"shards", "accepted when closed", func(x *index) string {
		return x.breakOne(x.answered, func(p *workflow.Progress) {
			of := shard.Shard{Number: x.shardsOf()[p.ID][0], State: shard.Closed, ClosedAt: p.AcceptedAt.Add(-time.Minute)}
			x.Map = &shard.Map{Shards: []shard.Shard{of}}
		})
	}},
	{"shards", "another shard's", func(x *index) string {
		e := quarantine.Entry{ID: "broken", Source: "broken"}
		e.SetBody([]byte(`{"schema":2,"transactionId":"broken","wake":1,"shard":65535}`))
		x.Quarantine = append(x.Quarantine, e)
		return e.ID
	}},
	{"answers", "no answer", func(x *index) string {
		for id := range trial.Sorted(x.Answers) {
			x.Answers = maps.Clone(x.Answers)
			x.Answers[id] = ""
			return id
		}
		return ""
	}},
	{"quarantine", "not poison", func(x *index) string {
		e := quarantine.Entry{ID: "broken", Source: "broken"}
		e.SetBody([]byte("broken"))
		x.Quarantine = append(x.Quarantine, e)
		return e.ID
	}},
	{"deadletters", "dead letters", func(x *index) string {
		if len(x.Queues) == 0 {
			return ""
		}
		x.Queues[0].DeadLetters++
		return x.Queues[0].Name
	}},
	{"wakes", "wake left", func(x *index) string {
		return x.breakOne(final, func(p *workflow.Progress) { p.WakeAt = p.EndedAt })
	}},
	{"leases", "lease left", func(x *index) string {
		return x.breakOne(final, func(p *workflow.Progress) { p.Lease.Runner = "broken" })
	}},
	{"lifetimes", "lifetime", func(x *index) string { return x.breakOne(final, func(p *workflow.Progress) { p.TTL = 0 }) }},
	{"notices", "notices", func(x *index) string {
		if !x.Notifications {
			return ""
		}
		short := func(p *workflow.Progress) bool { return len(p.History) < workflow.MaxHistory }
		return x.breakOne(short, func(p *workflow.Progress) { p.Outbox.Count++ })
	}},
	{"sizes", "too large", func(x *index) string {
		x.Documents = append(x.Documents, Document{Container: "broken", ID: "broken", Bytes: 1})
		return "broken"
	}},
}

func final(p *workflow.Progress) bool { return p.State.Final() }

// answered reports whether a client knows of a transaction that has ended.
func (x *index) answered(p *workflow.Progress) bool { return final(p) && x.ledger[p.ID] != nil }

// breakOne breaks the first transaction for which is is true, and returns its id.
func (x *index) breakOne(is func(*workflow.Progress) bool, do func(*workflow.Progress)) string {
	for _, id := range x.ids {
		if p := x.transactions[id]; is(p) {
			do(p)
			return id
		}
	}
	return ""
}

// breakEffect breaks a live effect of a completed transaction, and returns its id, or
// the other one that the violation is to have.
func (x *index) breakEffect(do func(container string, r *record.Record[json.RawMessage]), instead ...string) string {
	for _, of := range x.Subject.effects {
		records := x.Records[of.Container]
		for i := range records {
			r := &records[i]
			p := x.transactions[r.TransactionID]
			if p == nil || p.State != workflow.Completed || left(p) || len(r.Journal) == 0 {
				continue
			}
			id := append(slices.Clone(instead), p.ID)[0]
			do(of.Container, r)
			return id
		}
	}
	return ""
}

// breakUndone brings an effect back that was undone.
func (x *index) breakUndone() string {
	for _, of := range x.Subject.effects {
		records := x.Records[of.Container]
		for i := range records {
			r := &records[i]
			if r.Live() || len(r.Journal) == 0 {
				continue
			}
			p := x.transactions[r.Journal[len(r.Journal)-1].TransactionID]
			if p == nil || !p.State.Final() || p.State == workflow.GivenUp || p.Step(of.Name) == nil || p.Step(of.Name).State != workflow.StepUndone {
				continue
			}
			r.TransactionID = p.ID
			return p.ID
		}
	}
	return ""
}

// Sight is what the rules find of what was made wrong on purpose.
type Sight struct {
	Breaks int // that there was a place for
	// Missed are those of them that no rule has found, by the names of their rules and
	// what was wrong.
	Missed []string
	// Unbroken are the rules for which nothing was made wrong: of these nobody knows
	// whether they find anything.
	Unbroken []string
}

// Sight breaks a copy of a snapshot for each rule, those of the business included, and
// returns what the rules find of it.
func (subject *Subject) Sight(s Snapshot) Sight {
	all := slices.Clone(breaks)
	for _, b := range subject.trial.Breaks {
		all = append(all, breakOf{b.Rule, b.What, func(x *index) string { return b.Do(&x.Stored) }})
	}
	var seen Sight
	tried := map[string]bool{}
	for _, b := range all {
		broken := shallow(s)
		id := b.do(newIndex(subject, &broken))
		if id == "" {
			continue
		}
		seen.Breaks++
		tried[b.rule] = true
		if !subject.finds(broken, b.rule, b.what, id) {
			seen.Missed = append(seen.Missed, b.rule+": "+b.what)
		}
	}
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	for _, r := range subject.own(&s.Stored) {
		names = append(names, r.Name)
	}
	seen.Unbroken = slices.DeleteFunc(names, func(name string) bool { return tried[name] })
	return seen
}

// finds reports whether a rule finds such a violation in a snapshot.
func (subject *Subject) finds(s Snapshot, rule, what, id string) bool {
	found := func(check func(*trial.Findings)) bool {
		var f trial.Findings
		check(&f)
		return slices.ContainsFunc(f.Violations, func(v trial.Violation) bool { return v.ID == id && v.What == what })
	}
	for _, r := range rules {
		if r.name == rule {
			return found(func(f *trial.Findings) { r.check(newIndex(subject, &s), f) })
		}
	}
	for _, r := range subject.own(&s.Stored) {
		if r.Name == rule {
			return found(r.Check)
		}
	}
	return false
}

// shallow returns a copy whose lists are its own, with the same elements.
func shallow(s Snapshot) Snapshot {
	s.Transactions, s.Requests, s.Outside = slices.Clone(s.Transactions), slices.Clone(s.Requests), slices.Clone(s.Outside)
	s.Quarantine, s.Queues, s.Documents = slices.Clone(s.Quarantine), slices.Clone(s.Queues), slices.Clone(s.Documents)
	s.Further = slices.Clone(s.Further)
	s.Ledger, s.Ledgers = slices.Clone(s.Ledger), maps.Clone(s.Ledgers)
	s.Records, s.Others = maps.Clone(s.Records), maps.Clone(s.Others)
	for container, records := range s.Records {
		s.Records[container] = slices.Clone(records)
	}
	for container, docs := range s.Others {
		s.Others[container] = slices.Clone(docs)
	}
	return s
}
