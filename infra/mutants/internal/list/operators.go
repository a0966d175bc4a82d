package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// operators are faults of the rules of ADR 34.
var operators = []mutant.Mutant{
	{
		Name: "list-ends-at-empty-page", Breaks: "A filter that leaves nothing of a page ends the list.",
		File:   "shared/operate/filter.go",
		Before: `if continuation = next; next == "" || len(found) > 0 {`, After: `if continuation = ""; next != "" || true {`,
		Tests: in("./shared/operate"),
	},
	{
		Name: "search-twice", Breaks: "What has its key for an id is found twice.",
		File:   "shared/operate/filter.go",
		Before: "return p.ID != text", After: "return true",
		Tests: in("./shared/operate"),
	},
	{
		Name: "since-last-entry", Breaks: "A transaction counts as in its state since its last entry of any kind.",
		File:   "shared/operate/summary.go",
		Before: "if e.State != p.State {", After: "if at != p.AcceptedAt || e.State != p.State {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "status-stored-by-all", Breaks: "Each who asks for the status pays for a write of it.",
		File:   "shared/operate/survey.go",
		Before: "if !store && stored != nil && now.Sub(stored.At) < storedFor {", After: "if false {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "sweep-stores-no-status", Breaks: "Sweep stores no status while somebody asks: the history has holes.",
		File:   "shared/operate/survey.go",
		Before: "s.status(ctx, true)", After: "s.status(ctx, false)",
		Tests: in("./shared/operate"),
	},
	{
		Name: "since-of-the-stored-status", Breaks: "What is unusual begins anew with each status that is not stored.",
		File:   "shared/operate/survey.go",
		Before: "if s.folded != nil && (stored == nil || s.folded.At.After(stored.At)) {", After: "if s.folded != nil && stored == nil {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "old-error-of-undo", Breaks: "What is being undone shows the error of its step, not of its undo.",
		File:   "shared/operate/summary.go",
		Before: "s.Attempts, failed = step.UndoAttempts, step.UndoError", After: "s.Attempts = step.UndoAttempts",
		Tests: in("./shared/operate"),
	},
	{
		Name: "caller-without-index", Breaks: "Lists of a caller read everything.",
		File:   "shared/cosmosdb/spec.go",
		Before: `{"caller", "outbox.at"`, After: `{"outbox.at"`,
		Tests: in("./infra"), Run: "^TestIndexesAreThoseOfTheQueries$",
	},
	{
		Name: "wake-under-lease", Breaks: "An operator's wake changes what a runner holds.",
		File:   "shared/operate/transactions.go",
		Before: "if p.Lease.Live(now) {", After: "if p.Lease.Live(now.Add(100 * time.Hour)) {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "wake-is-no-repeat", Breaks: "A repeated wake is a new one, and on record once more.",
		File:   "shared/operate/transactions.go",
		Before: "!p.Rests() && (!onRecord || p.WakeAt.After(now))", After: "!p.Rests()",
		Tests: in("./shared/operate"),
	},
	{
		Name: "one-id-twice", Breaks: "Acts take one id twice.",
		File:   "shared/operate/acts.go",
		Before: "case twice:", After: "case twice && at < 0:",
		Tests: in("./shared/operate"),
	},
	{
		Name: "refused-undo-unseen", Breaks: "An undo that a backend refuses is not told of until Sweep counts what is Stuck.",
		File:   "shared/operate/report.go",
		Before: "s.UndoRefusedAt = c.to.now().UTC()", After: "s.UndoRefusedAt = time.Time{}",
		Tests: in("./shared/operate"),
	},
	{
		Name: "unusual-is-not-logged", Breaks: "Sweep doesn't log what is unusual, and no alert fires.",
		File:   "shared/operate/survey.go",
		Before: "if err != nil || !due {", After: "if err != nil || due {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "all-unusual-degrades", Breaks: "Whoever sends bad tokens makes Ready degraded.",
		File:   "shared/operate/survey.go",
		Before: "len(status.Unusual) > 0 && status.Unusual[0].Urgent", After: "len(status.Unusual) > 0",
		Tests: in("./handlers"), Run: "^TestReadyWhileSomethingIsUnusual$",
	},
	{
		Name: "hastened-undo-is-young", Breaks: "An undo that an operator hastens counts as begun then, and alerts nobody.",
		File:   "shared/workflow/history.go",
		Before: " && e.Transition != TransitionHasten", After: "",
		Tests: in("./shared/workflow"),
	},
}
