package invariant

import (
	"strings"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// shardsOf returns in which shards there is a document of each transaction.
func (x *index) shardsOf() map[string][]shard.Number {
	in := map[string][]shard.Number{}
	for _, part := range x.Further {
		for _, id := range part.Transactions {
			in[id] = append(in[id], part.Shard)
		}
	}
	documents := map[string]int{}
	for i := range x.Transactions {
		id := x.Transactions[i].ID
		if documents[id]++; documents[id] > len(in[id]) {
			in[id] = append(in[id], shard.First)
		}
	}
	return in
}

// checkShards wants each transaction in one shard, where the front looks for it, and
// nothing of it in another's queues and quarantine but what was set aside there as
// another's.
func checkShards(x *index, f *trial.Findings) {
	kept := map[string]*ingest.RequestRecord{} // the directory, by the transaction of clients' ids
	for i := range x.Requests {
		if r := &x.Requests[i]; r.ID == r.TransactionID {
			kept[r.ID] = r
		}
	}
	for id, in := range trial.Sorted(x.shardsOf()) {
		f.Checked++
		at, told := shard.Claimed(id)
		r := kept[id]
		switch {
		case told:
		case r != nil:
			at = r.Shard.OrFirst()
		default:
			at = shard.First // where what is in no directory is looked for
		}
		switch {
		case len(in) > 1:
			f.Broken(id, "two shards", "it has documents in the shards %v", in)
		case in[0] != at && (told || r != nil):
			f.Broken(id, "wrong shard", "it is in shard %d, and its id or the directory says %d", in[0], at)
		case in[0] != at:
			f.Broken(id, "lost from sight", "it is in shard %d, and the directory doesn't know it", in[0])
		default:
			x.checkClosed(x.transactions[id], at, f)
		}
	}
	x.checkDirectory(f)
	for _, q := range x.Queues {
		f.Checked++
		if q.Strangers > 0 {
			f.Broken(q.Name, "another shard's", "%d of its messages are for transactions of other shards", q.Strangers)
		}
	}
	x.checkSetAside(f)
}

// checkClosed wants nothing to be accepted by a closed shard, however old a front's map was.
func (x *index) checkClosed(p *workflow.Progress, in shard.Number, f *trial.Findings) {
	if x.Map == nil {
		return
	}
	s, _ := x.Map.Shard(in)
	if s.State == shard.Closed && p.AcceptedAt.After(s.ClosedAt.Add(settings.ClockMargin)) {
		f.Broken(p.ID, "accepted when closed", "shard %d was closed at %s, and has accepted it at %s", in, day(s.ClosedAt), p.AcceptedAt)
	}
}

// checkDirectory wants the directory to be in the first shard alone, and to tell of
// minted ids what they say themselves.
func (x *index) checkDirectory(f *trial.Findings) {
	for i := range x.Requests {
		r := &x.Requests[i]
		f.Checked++
		if told, minted := shard.Claimed(r.TransactionID); minted && told != r.Shard.OrFirst() {
			f.Broken(r.TransactionID, "directory", "%s says shard %d, and its id %d", r.ID, r.Shard.OrFirst(), told)
		}
	}
	for _, part := range x.Further {
		for _, id := range part.Requests {
			f.Broken(strings.TrimPrefix(id, ingest.KeyPrefix), "directory", "it is kept in shard %d, where nobody looks for it", part.Shard)
		}
	}
}

// checkSetAside looks for what belongs to another shard than the one in whose
// quarantine it is.
func (x *index) checkSetAside(f *trial.Findings) {
	in := map[string]shard.Number{}
	for _, part := range x.Further {
		for _, key := range part.Quarantine {
			in[key] = part.Shard
		}
	}
	for i := range x.Quarantine {
		e := &x.Quarantine[i]
		m, readable := envelopeOf(e)
		at := in[entryKey(e)].OrFirst()
		if f.Checked++; readable && m.Shard.OrFirst() != at && e.Reason != quarantine.ReasonOtherShard {
			f.Broken(e.ID, "another shard's", "it is for shard %d, and in the quarantine of shard %d as %s", m.Shard.OrFirst(), at, e.Reason)
		}
	}
}

// checkAnswers wants the front to tell of each transaction that a client knows what is
// stored of it.
func checkAnswers(x *index, f *trial.Findings) {
	if x.Answers == nil {
		return
	}
	for id := range trial.Sorted(x.ledger) {
		f.Checked++
		p := x.transactions[id]
		switch told := x.Answers[id]; {
		case told == "":
			f.Broken(id, "no answer", "the front does not know it")
		case p != nil && told != p.State:
			f.Broken(id, "another answer", "it is %s, and the front says %s", p.State, told)
		}
	}
}

// Placed counts the transactions of each shard.
func (s *Snapshot) Placed() map[shard.Number]int {
	placed := map[shard.Number]int{shard.First: len(s.Transactions)}
	for _, part := range s.Further {
		placed[part.Shard] += len(part.Transactions)
		placed[shard.First] -= len(part.Transactions)
	}
	return placed
}
