package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// backends are faults in the backends and in their client.
var backends = []mutant.Mutant{
	{
		Name: "time-out-is-no-effect", Breaks: "A call without an answer counts as not done.",
		File:   "shared/backendclient/classify.go",
		Before: "Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: status", After: "Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: status",
		Tests: in("./shared/backendclient"), Invariant: "undone",
	},
	{
		Name: "no-tombstone", Breaks: "An undo leaves nothing that refuses a late call.",
		File:   "shared/backend/record/rules.go",
		Before: "r.Tombstones = append(r.Tombstones, Tombstone{TransactionID: by.TransactionID, At: now.UTC()})", After: "",
		Tests: in("./shared/backend/record"), Invariant: "undone",
	},
	{
		Name: "tombstone-ignored", Breaks: "A late call brings back what was undone.",
		File:   "shared/backend/record/rules.go",
		Before: "buried {\n\t\treturn \"\", gone(by)", After: "buried && hash == \"\" {\n\t\treturn \"\", gone(by)",
		Tests: in("./shared/backend/record"), Invariant: "undone",
	},
	{
		Name: "tombstone-not-moved", Breaks: "A tombstone for which there is no room is forgotten.",
		File:   "shared/backend/record/keeper.go",
		Before: "if _, err := k.Store.Create(ctx, id, beside); err != nil && !failure.Is(err, failure.Conflict) {",
		After:  "if err := error(nil); beside.Live() && failure.Is(err, failure.Conflict) {",
		Tests:  in("./shared/backend/record"),
	},
	{
		Name: "failed-move-ignored", Breaks: "A tombstone is taken out of its record though it is not beside it.",
		File:   "shared/backend/record/keeper.go",
		Before: "err != nil && !failure.Is(err, failure.Conflict) {\n\t\t\treturn err", After: "failure.Is(err, failure.Invalid) {\n\t\t\treturn err",
		Tests: in("./shared/backend/record"),
	},
	{
		Name: "tombstone-beside-ignored", Breaks: "A late call brings back what was undone long ago.",
		File:   "shared/backend/record/keeper.go",
		Before: "return err == nil, err", After: "return false, err",
		Tests: in("./shared/backend/record"),
	},
	{
		Name: "tombstones-unbounded", Breaks: "A record grows with each transaction that was undone.",
		File:   "shared/backend/record/keeper.go",
		Before: "if over <= 0 {", After: "if over <= 1<<20 {",
		Tests: in("./shared/backend/record"),
	},
	{
		Name: "journal-unbounded", Breaks: "A record grows with each change that was ever made.",
		File:   "shared/backend/record/rules.go",
		Before: "len(entries) - MaxEntries; over > 0 {", After: "len(entries) - MaxEntries; over > 1<<20 {",
		Tests: in("./shared/backend/record"),
	},
	{
		Name: "undo-of-another's", Breaks: "An undo takes away what another transaction has there.",
		File:   "shared/backend/record/rules.go",
		Before: "if r.TransactionID == by.TransactionID {", After: "if r.Live() {",
		Tests: in("./shared/backend/record"), Invariant: "completed",
	},
	{
		Name: "put-over-another's", Breaks: "A PUT takes over what another transaction has there.",
		File:   "shared/backend/record/rules.go",
		Before: "case r.TransactionID != by.TransactionID:\n\t\treturn \"\", problem.New(OwnedByAnother, \"%s belongs to another transaction than %s\", r.ID, by.TransactionID)",
		After:  "case r.TransactionID != by.TransactionID:\n\t\treturn Changed, nil",
		Tests:  in("./shared/backend/record"), Invariant: "completed",
	},
	{
		Name: "older-revision-accepted", Breaks: "A late call of an older revision overwrites the newer one.",
		File:   "shared/backend/record/rules.go",
		Before: `return "", problem.New(StaleRevision, "revision %d is there, %d came", r.Revision, by.Revision)`, After: "return Changed, nil",
		Tests: in("./shared/backend/record"), Invariant: "content",
	},
	{
		Name: "repeat-is-a-change", Breaks: "A repeated PUT is made, and noted, again.",
		File:   "shared/backend/record/rules.go",
		Before: "with other content\", by.Revision)\n\t}\n\treturn \"\", nil", After: "with other content\", by.Revision)\n\t}\n\treturn Changed, nil",
		Tests: in("./shared/backend/record"), Invariant: "journals",
	},
	{
		Name: "carrier-not-booked", Breaks: "No carrier is booked for what is just too far for a drone.",
		File:   "shared/backend/transportation/service.go",
		Before: "b.Required = b.DistanceKm > s.cfg.DroneReachKm", After: "b.Required = b.DistanceKm > 2*s.cfg.DroneReachKm",
		Tests: in("./shared/backend/transportation"),
	},
	{
		Name: "booking-made-again", Breaks: "A change of a booking makes another one.",
		File:   "shared/backend/transportation/service.go",
		Before: "case live != nil && live.Required:", After: "case live != nil && live.Required && live.Ask == ask:",
		Tests: in("./shared/backend/transportation"),
	},
}
