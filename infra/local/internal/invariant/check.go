package invariant

import "fmt"

// rule is one invariant.
type rule struct {
	name    string
	promise string
	check   func(*index, *findings)
}

// rules are all of them, in the order in which they are reported. Each has a
// case in the tests that breaks it.
var rules = []rule{
	{"accepted", "every 202 has come to a final state", checkAccepted},
	{"operations", "every accepted operation is on record, and has ended", checkOperations},
	{"room", "an operation is refused outside of its transaction only if that does not take it", checkRoom},
	{"unanswered", "what no client knows of has come to a final state, too", checkUnanswered},
	{"requests", "a request with an id or key of its own was kept as it was sent and answered", checkRequests},
	{"history", "the history of a transaction leads to its state", checkHistory},
	{"completed", "Completed has one package, one booking, one assignment, one delivery", checkCompleted},
	{"carrier", "a carrier is booked if, and only if, the distance asks for one", checkCarriers},
	{"schedule", "a delivery has the drone and the times of its assignment", checkSchedules},
	{"content", "effects hold what the last revision of the request asks for", checkContents},
	{"undone", "what did not complete has left no effect", checkUndone},
	{"owned", "no effect is without its transaction", checkOwned},
	{"journals", "no effect was made twice, and each journal tells how its effect came to be", checkJournals},
	{"flights", "no drone is held for two at a time", checkFlights},
	{"packages", "no package has two drones that fly for it", checkPackages},
	{"grounded", "nothing flies for what was undone", checkGrounded},
	{"drones", "a drone is held for the assignment that names it, and for nobody else", checkDrones},
	{"quarantine", "the quarantine holds the poison, operations that can't be run, and dead letters that are on record", checkQuarantine},
	{"deadletters", "the dead-letter sub-queues are empty", checkDeadLetters},
	{"wakes", "no wake is overdue, and none is left behind", checkWakes},
	{"leases", "nobody holds what has come to rest", checkLeases},
	{"lifetimes", "what is open or live stays, what has ended goes in its time", checkLifetimes},
	{"notices", "every end was told of, once", checkNotices},
	{"sizes", "no document grows beyond its bound", checkSizes},
}

// Check judges a snapshot. It is pure.
func Check(s Snapshot) Report {
	x := newIndex(&s)
	r := Report{At: s.Now, Transactions: len(s.Transactions), States: x.states(), Queues: append([]Queue{}, s.Queues...),
		Stuck: x.excusedIDs(), Unanswered: x.unanswered()}
	for _, rule := range rules {
		f := findings{violations: []Violation{}}
		rule.check(x, &f)
		r.Invariants = append(r.Invariants, Invariant{rule.name, rule.promise, f.checked, f.violations})
	}
	r.Stories = x.stories(r.Invariants)
	return r
}

// findings is what a rule has found so far.
type findings struct {
	checked    int
	violations []Violation
}

// broken adds a violation. id is the TransactionID, or the document's own if
// there is no transaction to it.
func (f *findings) broken(id, what, format string, args ...any) {
	f.violations = append(f.violations, Violation{ID: id, What: what, Detail: fmt.Sprintf(format, args...), said: format})
}
