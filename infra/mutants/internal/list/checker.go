package list

import (
	"strings"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

// blinded are the checker's rules, those of every business and those of the
// delivery's and of orders, each of which looks and then finds nothing.
func blinded() []mutant.Mutant {
	var all []mutant.Mutant
	blind := func(rule, file, before, after, tests, run string) {
		all = append(all, mutant.Mutant{
			Name: "blind-for-" + strings.ToLower(rule), Breaks: "The rule check" + rule + " finds nothing.", File: file,
			Before: before, After: after + "f.Violations = f.Violations[:0] }},",
			Tests: in(tests), Run: run,
		})
	}
	const everywhere, snapshots = "./infra/local/internal/invariant", "^TestBrokenSnapshots$"
	for _, rule := range []string{
		"Accepted", "Operations", "Unanswered", "Requests", "History", "Completed", "Contents", "Undone", "Owned",
		"Journals", "Quarantine", "DeadLetters", "Wakes", "Leases", "Lifetimes", "Notices", "Sizes", "Room", "Shards", "Answers",
	} {
		blind(rule, "infra/local/internal/invariant/check.go", ", check"+rule+"},", ", func(x *index, f *trial.Findings) { check"+rule+"(x, f); ", everywhere, snapshots)
	}
	for _, rule := range []string{"Customers", "Carriers", "Confirmed", "Schedules", "Flights", "Packages", "Grounded", "Drones"} {
		blind(rule, "shared/delivery/trial/world.go", "Check: w.check"+rule+"},", "Check: func(f *trial.Findings) { w.check"+rule+"(f); ", everywhere, snapshots)
	}
	for _, rule := range []string{"Stock", "Money"} {
		blind(rule, "shared/orders/trial/rules.go", "Check: w.check"+rule+"},", "Check: func(f *trial.Findings) { w.check"+rule+"(f); ", "./shared/orders/trial", "^TestBreaksAreFound$")
	}
	return all
}

// checkers are faults in what judges a run of chaos: a rule that can't be broken any
// more proves nothing.
var checkers = []mutant.Mutant{
	{
		Name: "break-without-harm", Breaks: "What is to break a rule, to see whether it finds anything, breaks nothing.",
		File:   "infra/local/internal/invariant/breaks.go",
		Before: `p.Lease.Runner = "broken"`, After: `_ = p.Lease.Runner`,
		Tests: in("./infra/local/internal/invariant"), Run: "^TestNoRuleIsBlind$",
	},
	{
		Name: "break-of-orders-without-harm", Breaks: "What is to break a rule of orders breaks nothing.",
		File:   "shared/orders/trial/breaks.go",
		Before: "i.Total = 0", After: "_ = i.Total",
		Tests: in("./shared/orders/trial"), Run: "^TestBreaksAreFound$",
	},
	{
		Name: "open-is-an-end", Breaks: "A transaction that has not ended is taken for ended.",
		File:   "infra/local/internal/invariant/accepted.go",
		Before: "case !p.State.Final():", After: "case p.State == \"\":",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "lost-operation-not-seen", Breaks: "An accepted operation that is nowhere is not missed.",
		File:   "infra/local/internal/invariant/operations.go",
		Before: "case !recorded && !x.quarantined[operation]:", After: "case !recorded && operation == \"\":",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "open-operation-not-seen", Breaks: "An operation that stays Pending is not missed.",
		File:   "infra/local/internal/invariant/operations.go",
		Before: "if !x.excused(p) {\n\t\t\tf.Broken(p.ID, \"operation open\"", After: "if x.excused(p) {\n\t\t\tf.Broken(p.ID, \"operation open\"",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "half-done-not-seen", Breaks: "An effect that is live, and counts as undone, is not seen.",
		File:   "infra/local/internal/invariant/undone.go",
		Before: "if len(live) > 0 {\n", After: "if len(live) > 1 {\n",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "two-effects-not-seen", Breaks: "Two effects of one step are not seen.",
		File:   "infra/local/internal/invariant/completed.go",
		Before: "if len(live) > 1 {", After: "if len(live) > 2 {",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "missing-tombstone-not-seen", Breaks: "An undone effect without a tombstone is not seen.",
		File:   "infra/local/internal/invariant/undone.go",
		Before: "if e := x.byID[at]; e == nil || !e.buried(p.ID) {", After: "if e := x.byID[at]; e == nil {",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "made-twice-not-seen", Breaks: "An effect that was created again after it was undone is not seen.",
		File:   "infra/local/internal/invariant/journal.go",
		Before: "} else if r.seen[e.TransactionID] {", After: "} else if r.seen[e.TransactionID] && e.Seq == 0 {",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "lost-poison-not-seen", Breaks: "Poison that is not in the quarantine is not missed.",
		File:   "infra/local/internal/invariant/quarantine.go",
		Before: "for hash := range trial.Sorted(left) {\n\t\tf.Checked++\n", After: "for hash := range trial.Sorted(left) {\n\t\tf.Checked++\n\t\tbreak\n",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "overdue-wake-not-seen", Breaks: "A transaction that nobody wakes is not seen.",
		File:   "infra/local/internal/invariant/rest.go",
		Before: "case p.WakeAt.Before(x.Now):", After: "case p.WakeAt.Before(p.StartedAt.Time):",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "flight-that-was-undone-not-seen", Breaks: "A drone that was let go after its pickup does not count as flying.",
		File:   "shared/delivery/trial/flown.go",
		Before: "return r.Live() || inTheAir", After: "return r.Live() && !inTheAir",
		Tests: in("./shared/delivery/trial"),
	},
	{
		Name: "dead-letter-taken-for-a-record", Breaks: "An operation whose message is a dead letter counts as on record.",
		File:   "infra/local/internal/invariant/quarantine.go",
		Before: "if e := &x.Quarantine[i]; !x.isDeadLetter(e) && ", After: "if e := &x.Quarantine[i]; e.ID != \"\" && ",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "large-document-not-seen", Breaks: "A document of twice its bound is not seen.",
		File:   "infra/local/internal/invariant/sizes.go",
		Before: "d.Bytes > most {", After: "d.Bytes > 2*most {",
		Tests: in("./infra/local/internal/invariant"),
	},
	{
		Name: "history-from-nowhere-not-seen", Breaks: "A history may go on behind an end.",
		File:   "infra/local/internal/invariant/history.go",
		Before: "if !known || !slices.Contains(way.from, at) ||", After: "if !known ||",
		Tests: in("./infra/local/internal/invariant"),
	},
}
