package invariant

import (
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Of the second shard are the transactions keyed, which the directory knows, and inSecond.
var ofShards = []breakage{
	{"shards", "two shards", "keyed", "", func(s *scene) { s.Transactions = append(s.Transactions, *transaction(s, "keyed")) }},
	{"shards", "two shards", inSecond, "neither the first", func(s *scene) {
		s.Transactions = append(s.Transactions, *transaction(s, inSecond))
		s.Further = append(s.Further, Part{Shard: 3, Transactions: []string{inSecond}})
	}},
	{"shards", "wrong shard", inSecond, "by its id", func(s *scene) { s.Further[0].Transactions = s.Further[0].Transactions[:1] }},
	{"shards", "wrong shard", "keyed", "by the directory", func(s *scene) { kept(s, "keyed").Shard = 3 }},
	{"shards", "lost from sight", "keyed", "", func(s *scene) { s.Requests = drop(s.Requests, kept(s, "keyed")) }},
	{"shards", "lost from sight", "far", "never there", func(s *scene) {
		s.Further[0].Transactions = append(s.Further[0].Transactions, "far")
	}},
	{"shards", "accepted when closed", inSecond, "", func(s *scene) {
		s.Map = &shard.Map{Shards: []shard.Shard{{Number: 2, State: shard.Closed, ClosedAt: transaction(s, inSecond).AcceptedAt.Add(-time.Minute)}}}
	}},
	{"shards", "directory", inSecond, "another shard than the id's", func(s *scene) {
		s.Requests = append(s.Requests, ingest.RequestRecord{ID: ingest.KeyPrefix + "k", TransactionID: inSecond, Operation: workflow.OperationCancel})
	}},
	{"shards", "directory", "keyed", "in the second", func(s *scene) { s.Further[0].Requests = []string{"keyed"} }},
	{"shards", "another shard's", "deliveries", "in a queue", func(s *scene) { s.Queues[0].Strangers = 1 }},
	{"shards", "another shard's", "stray", "set aside as something else", func(s *scene) {
		s.Quarantine = append(s.Quarantine, stray(engine.Envelope{TransactionID: inSecond, Wake: 1, Shard: 2}))
	}},
	{"shards", "another shard's", "stray", "set aside in the second", func(s *scene) {
		e := stray(engine.Envelope{TransactionID: "far", Wake: 1})
		s.Quarantine, s.Further[0].Quarantine = append(s.Quarantine, e), []string{entryKey(&e)}
	}},
	{"operations", "operation lost", "plain-0-1", "set aside as another shard's", func(s *scene) {
		found(s.Quarantine, func(e *quarantine.Entry) bool { return e.TransactionID == "plain-0-1" }).Reason = quarantine.ReasonOtherShard
	}},
	{"answers", "no answer", "far", "", func(s *scene) { delete(s.Answers, "far") }},
	{"answers", "another answer", "keyed", "", func(s *scene) { s.Answers["keyed"] = workflow.Rejected }},
}

func stray(m engine.Envelope) quarantine.Entry {
	e := entryFor("deliveries", 3, m)
	e.ID = "stray"
	return e
}
