package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// workflows are faults in the decisions.
var workflows = []mutant.Mutant{
	{
		Name: "maybe-is-not-undone", Breaks: "A step whose effect is unknown is left as it is.",
		File:   "shared/workflow/undo.go",
		Before: "return s.Effect != EffectNo || s.State == StepStarted", After: "return s.Effect == EffectYes || s.State == StepStarted",
		Tests: in("./shared/workflow"), Invariant: "undone",
	},
	{
		Name: "one-undo-dropped", Breaks: "An undo that the service failed at counts as done.",
		File:   "shared/workflow/record.go",
		Before: "if f.wasSent() {\n", After: "if f.wasSent() {\n\t\t\t\ts.State = StepUndone\n",
		Tests: in("./shared/workflow"), Invariant: "undone",
	},
	{
		Name: "crash-is-no-effect", Breaks: "What a runner that died had on its way counts as not done.",
		File:   "shared/workflow/record.go",
		Before: "s.State = StepPending\n\t\t\ts.Effect = max(s.Effect, EffectMaybe)", After: "s.State = StepPending",
		Tests: in("./shared/workflow"), Invariant: "undone",
	},
	{
		Name: "effect-of-the-last-attempt", Breaks: "Of the attempts in place only the last one's effect counts.",
		File:   "shared/workflow/record.go",
		Before: "f.Effect = max(f.Effect, o.Effect)", After: "f.Effect = o.Effect",
		Tests: in("./shared/workflow", "./shared/engine"), Invariant: "undone",
	},
	{
		Name: "effect-of-the-last-wake", Breaks: "What earlier wakes may have effected is forgotten.",
		File:   "shared/workflow/record.go",
		Before: "s.Effect = max(s.Effect, f.Effect)", After: "s.Effect = f.Effect",
		Tests: in("./shared/workflow"), Invariant: "undone",
		// The breaker opens over answers that are lost: then the next wake sends nothing.
		Chaos: faults("backend.answerlost=0.8"),
	},
	{
		Name: "rejected-with-effects", Breaks: "A run that fails is Rejected, whatever it has effected.",
		File:   "shared/workflow/decide.go",
		Before: "if d.HasEffects(p) {\n\t\treturn p.Compensate(cause", After: "if p.State == Completed {\n\t\treturn p.Compensate(cause",
		Tests: in("./shared/workflow"), Invariant: "undone",
	},
	{
		Name: "cancelled-with-effects", Breaks: "A run that is cancelled is Cancelled at once, whatever it has effected.",
		File:   "shared/workflow/operation.go",
		Before: "if p.State == Completed || d.HasEffects(p) {", After: "if p.State == Completed {",
		Tests: in("./shared/workflow"), Invariant: "undone",
	},
	{
		Name: "step-before-its-turn", Breaks: "A step is called although one before it has not succeeded.",
		File:   "shared/workflow/decide.go",
		Before: "if p.Step(name).State != StepSucceeded {", After: "if p.Step(name).State == StepRejected {",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "new-result-not-passed-on", Breaks: "Steps that were made of a result which has changed are not made again.",
		File:   "shared/workflow/record.go",
		Before: "if s.Revision > 0 && !SameJSON(s.Result, o.Result) {", After: "if s.Revision > 0 && s.Result == nil && o.Result != nil {",
		Tests: in("./shared/workflow"), Invariant: "schedule",
	},
	{
		Name: "strangers-vanish", Breaks: "Operations of strangers that came before the delivery are gone when it comes.",
		File:   "shared/workflow/owner.go",
		Before: "outside = append(outside, p.foreign(op))", After: "_ = p.foreign(op)",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "order-by-arrival", Breaks: "Operations are carried out in the order in which they arrive.",
		File:   "shared/workflow/operation.go",
		Before: "return strings.Compare(a.ID, b.ID)", After: "return 0 * strings.Compare(a.ID, b.ID)",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "older-reschedule-wins", Breaks: "A reschedule is carried out after one that is newer.",
		File:   "shared/workflow/operation.go",
		Before: "other.State == OperationApplied && other.ID > op.ID", After: "other.State == OperationApplied && other.ID == op.ID",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "put-back-forgets", Breaks: "A reschedule that is refused leaves its request in the document.",
		File:   "shared/workflow/redo.go",
		Before: "p.Request, p.Previous = p.Previous, nil", After: "p.Previous = nil",
		Tests: in("./shared/workflow"), Invariant: "content",
	},
	{
		Name: "wake-used-again", Breaks: "A new wake has the number, and so the MessageID, of the one before.",
		File:   "shared/workflow/wake.go",
		Before: "\tp.Wake++\n", After: "\tp.Wake = max(p.Wake, 1)\n",
		Tests: in("./shared/workflow", "./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "wake-of-what-rests", Breaks: "A transaction that has ended keeps its wake.",
		File:   "shared/workflow/transition.go",
		Before: `p.WakeAt, p.WakeQueue = Instant{}, ""`, After: `p.WakeQueue = ""`,
		Tests: in("./shared/workflow"), Invariant: "wakes",
	},
	{
		Name: "no-lifetime", Breaks: "A final transaction is kept for ever.",
		File:   "shared/workflow/transition.go",
		Before: "p.TTL = int(l.DocumentTTL / time.Second)", After: "p.TTL = 0 * int(l.DocumentTTL/time.Second)",
		Tests: in("./shared/workflow"), Invariant: "lifetimes",
	},
	{
		Name: "reopened-with-a-lifetime", Breaks: "A Completed transaction that is changed still goes when its time is over.",
		File:   "shared/workflow/transition.go",
		Before: "p.EndedAt = Instant{}\n\t\tp.TTL = 0\n\t\tp.Laters = 0\n\t}\n\tp.note(TransitionChange", After: "p.EndedAt = Instant{}\n\t\tp.Laters = 0\n\t}\n\tp.note(TransitionChange",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "end-not-announced", Breaks: "Nobody is told that a transaction was cancelled.",
		File:   "shared/workflow/transition.go",
		Before: "if l.Notify {", After: "if l.Notify && p.State != Cancelled {",
		Tests: in("./shared/workflow"), Invariant: "notices",
	},
	{
		Name: "lease-ignored", Breaks: "A runner takes a transaction that another one holds.",
		File:   "shared/workflow/progress.go",
		Before: `return l.Runner != "" && now.Before(l.Until.Time)`, After: `return l.Runner != "" && now.Before(l.Until.Time.Add(-time.Hour))`,
		Tests: in("./shared/engine"),
	},
	{
		Name: "pivot-undone-in-its-turn", Breaks: "A pivot is undone in reverse order like any step, when others are undone already.",
		File:   "shared/workflow/undo.go",
		Before: "if a, b := d.isPivot(name), d.isPivot(other); a != b {", After: "if a, b := d.isPivot(name), d.isPivot(other); a && b {",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "undone-in-order", Breaks: "Steps are undone in the order in which they were done.",
		File:   "shared/workflow/undo.go",
		Before: "return slices.Contains(d.ancestors(name), other)", After: "return slices.Contains(d.ancestors(other), name)",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "late-cancel-goes-on", Breaks: "A cancel that a pivot refuses is taken back although another step was undone.",
		File:   "shared/workflow/undo.go",
		Before: "slices.ContainsFunc(p.Steps, tried)", After: "!slices.ContainsFunc(p.Steps, tried) && tried(*pivot)",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "operations-without-a-bound", Breaks: "A transaction takes any number of operations.",
		File:   "shared/workflow/operation.go",
		Before: "case had >= MaxOperations:", After: "case had >= 100*MaxOperations:",
		Tests: in("./shared/workflow"),
	},
	{
		Name: "changes-without-a-bound", Breaks: "A transaction takes any number of bytes of changes.",
		File:   "shared/workflow/operation.go",
		Before: "bytes+len(op.Body) > MaxChangeBytes", After: "len(op.Body) > MaxChangeBytes",
		Tests: in("./shared/workflow"),
	},
}
