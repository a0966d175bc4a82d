package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// ahead are faults in the rules of a first run that writes its document twice (ADR 28).
var ahead = []mutant.Mutant{
	{
		Name: "marks-not-taken-back", Breaks: "Steps that were marked and never called count as called when something is decided.",
		File:   "shared/workflow/decide.go",
		Before: "\tif p.State == Running {\n\t\tp.takeBack()", After: "\tif p.State == Running && p.Revision > 1 {\n\t\tp.takeBack()",
		Tests: in("./shared/engine"), Invariant: "undone",
	},
	{
		Name: "marks-kept-while-waiting", Breaks: "Who lets go of the lease to wait leaves steps marked that were not called.",
		File:   "shared/workflow/decide.go",
		Before: "\tif p.State == Running {\n\t\tp.takeBack()", After: "\tif p.State == Running && t.Start {\n\t\tp.takeBack()",
		Tests: in("./shared/engine"),
	},
	{
		Name: "attempt-not-taken-back", Breaks: "A step that was marked and not called counts one attempt.",
		File:   "shared/workflow/decide.go",
		Before: "if s.Attempts--; s.Attempts == 0 {", After: "if s.Attempts == 0 {",
		Tests: in("./shared/engine"),
	},
	{
		Name: "marked-ahead-is-no-effect", Breaks: "After a crash only the first stage is in doubt, not all that were marked.",
		File:   "shared/workflow/record.go",
		Before: "\t\t\ts.Effect = max(s.Effect, EffectMaybe)\n\t\tcase StepUndoing:", After: "\t\t\tif !s.StartedAt.IsZero() {\n\t\t\t\ts.Effect = max(s.Effect, EffectMaybe)\n\t\t\t}\n\t\tcase StepUndoing:",
		Tests: in("./shared/engine/enginetest"), Invariant: "undone",
	},
	{
		Name: "ahead-in-a-later-revision", Breaks: "The run of a change goes on without a save between its stages.",
		File:   "shared/workflow/decide.go",
		Before: "return p.Revision == 1 && ", After: "return ",
		Tests: in("./shared/engine"),
	},
	{
		Name: "ahead-in-doubt", Breaks: "A run that takes over from one that died goes on without a save between its stages.",
		File:   "shared/workflow/decide.go",
		Before: "s.State != StepPending || s.Effect != EffectNo ||", After: "s.State != StepPending ||",
		Tests: in("./shared/engine"),
	},
	{
		Name: "called-out-of-its-turn", Breaks: "A step is called as soon as it is marked.",
		File:   "shared/workflow/decide.go",
		Before: "p.Step(name).State == StepStarted && !d.preceded(p, name)", After: `name == "" && !d.preceded(p, name)`,
		Tests: in("./shared/engine"),
	},
	{
		Name: "no-save-after-a-second-attempt", Breaks: "A run goes on without a save although a call has succeeded at its second attempt only.",
		File:   "shared/engine/session.go",
		Before: "if f.Attempts != 1 ||", After: "if f.Attempts < 1 ||",
		Tests: in("./shared/engine"),
	},
	{
		Name: "unstable-result-not-saved", Breaks: "A call is made of a result that is not saved, and that another runner would get otherwise.",
		File:   "shared/engine/session.go",
		Before: "s.usesUnstable(ready) || ", After: "",
		Tests: in("./shared/engine"),
	},
	{
		Name: "save-put-off-for-ever", Breaks: "A first run that goes well is not saved before its end, however long it takes.",
		File:   "shared/engine/session.go",
		Before: "last.at.Sub(s.saved) >= s.r.Budgets.SaveEvery", After: "last.at.Sub(s.saved) >= s.r.Budgets.CompleteBy",
		Tests: in("./shared/engine"),
	},
	{
		Name: "results-lost-in-a-conflict", Breaks: "Who meets a wish at the save records the last stage alone.",
		File:   "shared/engine/session.go",
		Before: "return false, nil // someone has added a wish", After: "s.done = s.done[len(s.done)-1:]\n\t\treturn false, nil // someone has added a wish",
		Tests: in("./shared/engine"),
	},
	{
		Name: "results-recorded-again", Breaks: "What was saved is recorded once more with the next save.",
		File:   "shared/engine/session.go",
		Before: "s.saved, s.done, s.now = s.r.Now(), nil, p", After: "s.saved, s.now = s.r.Now(), p",
		Tests: in("./shared/engine"),
	},
	{
		Name: "wish-overwritten-at-the-save", Breaks: "A save takes the place of a wish that came in since the last one.",
		File:   "shared/engine/session.go",
		Before: "\ts.p, s.etag = p, etag\n\tswitch {", After: "\ts.etag = etag\n\tif p.Lease.Epoch != s.epoch || p.Saves != last.Saves {\n\t\ts.p = p\n\t}\n\tswitch {",
		Tests: in("./shared/engine"), Invariant: "operations",
	},
	{
		Name: "start-takes-the-place-of-a-document", Breaks: "A start that finds a document, such as that of an early wish, writes over it.",
		File:   "shared/engine/handle.go",
		Before: "newTag, err = s.r.Store.Create(ctx, p)\n",
		After:  "newTag, err = s.r.Store.Create(ctx, p)\n\t\tif failure.Is(err, failure.Conflict) {\n\t\t\tif _, etag, err = s.r.Store.Read(ctx, p.ID); err == nil {\n\t\t\t\tnewTag, err = s.r.Store.Replace(ctx, p, etag)\n\t\t\t}\n\t\t}\n",
		Tests:  in("./shared/engine"), Invariant: "operations",
	},
	{
		Name: "start-behind-a-wish-lost", Breaks: "A start is settled, and nothing more, if there is a document already.",
		File:   "shared/engine/handle.go",
		Before: "\t\t\tverdict = there\n", After: "\t\t\treturn settled, nil\n",
		Tests: in("./shared/engine"), Invariant: "operations",
	},
	{
		Name: "undo-waits-for-a-result", Breaks: "An undo is made of results, of which there may be none.",
		File:   "shared/workflow/graph.go",
		Before: "Undo(p.input(nil))", After: "Undo(p.input(d.Step(name).Uses))",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "record-taken-for-new", Breaks: "A backend that was refused to create a record does not read what is there.",
		File:   "shared/record/keeper.go",
		Before: "\t\t\t\tabsent = false\n\t\t\t\treturn new(T)", After: "\t\t\t\treturn new(T)",
		Tests: in("./shared/record"), Invariant: "accepted",
	},
}
