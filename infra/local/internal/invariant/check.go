package invariant

import "github.com/fabrikam/drone-delivery/shared/trial"

// rule is one invariant.
type rule struct {
	name    string
	promise string
	check   func(*index, *trial.Findings)
}

// rules are those of every business, in the order in which they are reported. Each has a
// case in the tests that breaks it.
var rules = []rule{
	{"accepted", "every 202 has come to a final state", checkAccepted},
	{"operations", "every accepted operation is on record, and has ended", checkOperations},
	{"room", "an operation is refused outside of its transaction only if that does not take it", checkRoom},
	{"unanswered", "what no client knows of has come to a final state, too", checkUnanswered},
	{"requests", "a request with an id or key of its own was kept as it was sent and answered", checkRequests},
	{"history", "the history of a transaction leads to its state", checkHistory},
	{"completed", "Completed has one effect of each step", checkCompleted},
	{"content", "effects hold what the last revision of the request asks for", checkContents},
	{"undone", "what did not complete has left no effect", checkUndone},
	{"owned", "no effect is without its transaction", checkOwned},
	{"journals", "no effect was made twice, and each journal tells how its effect came to be", checkJournals},
	{"shards", "a transaction is in one shard, the one that its id or the directory says, and so is all that is about it", checkShards},
	{"answers", "the front answers for every transaction that was accepted, whichever shard it is in", checkAnswers},
	{"quarantine", "the quarantine holds the poison, operations that can't be run, and dead letters that are on record", checkQuarantine},
	{"deadletters", "the dead-letter sub-queues are empty", checkDeadLetters},
	{"wakes", "no wake is overdue, and none is left behind", checkWakes},
	{"leases", "nobody holds what has come to rest", checkLeases},
	{"lifetimes", "what is open or live stays, what has ended goes in its time", checkLifetimes},
	{"notices", "every end was told of, once", checkNotices},
	{"sizes", "no document grows beyond its bound", checkSizes},
}

// Check judges a snapshot: by the rules of every business first, then by those of
// its own. It is pure.
func (subject *Subject) Check(s Snapshot) Report {
	x := newIndex(subject, &s)
	r := Report{At: s.Now, Transactions: len(s.Transactions), States: x.states(), Queues: append([]Queue{}, s.Queues...),
		Stuck: x.excusedIDs(), Unanswered: x.unanswered()}
	for _, rule := range rules {
		r.judge(rule.name, rule.promise, func(f *trial.Findings) { rule.check(x, f) })
	}
	for _, rule := range subject.own(&s.Stored) {
		r.judge(rule.Name, rule.Promise, rule.Check)
	}
	r.Stories = x.stories(r.Invariants)
	return r
}

// own returns the rules of the business, none without a trial that has any. What can't
// be read breaks the only one.
func (subject *Subject) own(s *trial.Stored) []trial.Rule {
	if subject.trial.Rules == nil {
		return nil
	}
	own, err := subject.trial.Rules(s)
	if err != nil {
		return []trial.Rule{{Name: "readable", Promise: "what the business stores can be read", Check: func(f *trial.Findings) {
			f.Checked++
			f.Broken(subject.business.Name, "unreadable", "%v", err)
		}}}
	}
	return own
}

// judge adds the judgement of one rule.
func (r *Report) judge(name, promise string, check func(*trial.Findings)) {
	f := trial.Findings{Violations: []trial.Violation{}}
	check(&f)
	r.Invariants = append(r.Invariants, Invariant{name, promise, f.Checked, f.Violations})
}
