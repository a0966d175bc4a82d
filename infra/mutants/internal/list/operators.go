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
	{
		Name: "fold-of-one-instance", Breaks: "The status tells what one instance accepts, not all.",
		File:   "shared/operate/fold.go",
		Before: "s.Accepting.add(r.Accepting)", After: "s.Accepting = r.Accepting",
		Tests: in("./shared/operate"),
	},
	{
		Name: "old-report-counts", Breaks: "What an instance told minutes ago counts as what it does now.",
		File:   "shared/operate/fold.go",
		Before: "if age > current {", After: "if age > present {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "gone-instance-stays", Breaks: "An instance that has gone counts as there.",
		File:   "shared/operate/fold.go",
		Before: "if age > present {", After: "if age > 10*present {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "breaker-since-the-last", Breaks: "An open breaker is told since the last instance opened its own.",
		File:   "shared/operate/fold.go",
		Before: "if since.Before(b.Since) {", After: "if since.After(b.Since) {",
		Tests: in("./shared/operate"),
	},
	{
		Name: "unusual-is-always-new", Breaks: "What is unusual loses since when with each status.",
		File:   "shared/operate/fold.go",
		Before: "if at >= 0 && previous", After: "if at > 99 && previous",
		Tests: in("./shared/operate"),
	},
	{
		Name: "history-stands", Breaks: "Points of the last hour stay where they are while time goes on.",
		File:   "shared/operate/fold.go",
		Before: "copy(out, old[by:])", After: "copy(out, old)",
		Tests: in("./shared/operate"),
	},
	{
		Name: "urgent-comes-last", Breaks: "What can wait is told first.",
		File:   "shared/operate/unusual.go",
		Before: "case a.Urgent:", After: "case b.Urgent:",
		Tests: in("./shared/operate"),
	},
	{
		Name: "no-limit-of-acts", Breaks: "An act takes any number of ids.",
		File:   "shared/operate/acts.go",
		Before: "n == 0 || n > MaxAtOnce", After: "n == 0",
		Tests: in("./shared/operate"),
	},
	{
		Name: "continuation-ignored", Breaks: "Each page of a list is its first.",
		File:   "shared/operate/filter.go",
		Before: "return s.find(ctx, where, continuation, f.takes)", After: "return s.find(ctx, where, \"\", f.takes)",
		Tests: in("./shared/operate"),
	},
	{
		Name: "until-is-included", Breaks: "A list of the time before a moment has what was accepted then.",
		File:   "shared/operate/filter.go",
		Before: "s.AcceptedAt.Before(f.Until))", After: "!s.AcceptedAt.After(f.Until))",
		Tests: in("./shared/operate"),
	},
	{
		Name: "operations-for-clients", Breaks: "Clients may see lists and act.",
		File:   "handlers/routes.go",
		Before: `template: operate.Path + "/{*path}", roles: operators`, After: `template: operate.Path + "/{*path}", roles: clients`,
		Tests: in("./handlers"), Run: "^TestNothingOfOperatorsWithoutTheirRole$",
	},
	{
		Name: "operations-unguarded", Breaks: "Anyone may see lists and act.",
		File:   "handlers/routes.go",
		Before: "if f.anonymous {", After: `if f.anonymous || f.name == "Operations" {`,
		Tests: in("./handlers"), Run: "^TestNothingOfOperatorsWithoutTheirRole$",
	},
	{
		Name: "page-takes-markup", Breaks: "A browser lets the page make markup of a text.",
		File:   "shared/page/page.go",
		Before: `frame-ancestors 'none'; require-trusted-types-for 'script'`, After: `frame-ancestors 'none'`,
		Tests: in("./shared/page"),
	},
	{
		Name: "page-tells-the-issuer", Breaks: "The page names the issuer, and may talk to it, where nobody signs in by it.",
		File:   "shared/page/page.go",
		Before: "if a.Mode == settings.AuthEntra {", After: `if a.Issuer != "" {`,
		Tests: in("./shared/page"),
	},
}
