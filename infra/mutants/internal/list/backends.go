package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// backends are faults in the backends and in their client.
var backends = []mutant.Mutant{
	{
		Name: "time-out-is-no-effect", Breaks: "A call without an answer counts as not done.",
		File:   "shared/backendclient/classify.go",
		Before: "Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: status", After: "Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: status",
		Tests: in("./shared/backendclient"), Invariant: "undone",
		Chaos: faults("backend.answerlost=0.5"),
	},
	{
		Name: "no-tombstone", Breaks: "An undo leaves nothing that refuses a late call.",
		File:   "shared/record/rules.go",
		Before: "r.Tombstones = append(r.Tombstones, Tombstone{TransactionID: by.TransactionID, At: now.UTC()})", After: "",
		Tests: in("./shared/record"), Invariant: "undone",
	},
	{
		Name: "tombstone-ignored", Breaks: "A late call brings back what was undone.",
		File:   "shared/record/rules.go",
		Before: "buried {\n\t\treturn \"\", gone(by)", After: "buried && hash == \"\" {\n\t\treturn \"\", gone(by)",
		Tests: in("./shared/record"), Invariant: "undone",
	},
	{
		Name: "tombstone-not-moved", Breaks: "A tombstone for which there is no room is forgotten.",
		File:   "shared/record/keeper.go",
		Before: "if _, err := k.Store.Create(ctx, id, beside); err != nil && !failure.Is(err, failure.Conflict) {",
		After:  "if err := error(nil); beside.Live() && failure.Is(err, failure.Conflict) {",
		Tests:  in("./shared/record"),
	},
	{
		Name: "failed-move-ignored", Breaks: "A tombstone is taken out of its record though it is not beside it.",
		File:   "shared/record/keeper.go",
		Before: "err != nil && !failure.Is(err, failure.Conflict) {\n\t\t\treturn err", After: "failure.Is(err, failure.Invalid) {\n\t\t\treturn err",
		Tests: in("./shared/record"),
	},
	{
		Name: "tombstone-beside-ignored", Breaks: "A late call brings back what was undone long ago.",
		File:   "shared/record/keeper.go",
		Before: "return err == nil, err", After: "return false, err",
		Tests: in("./shared/record"),
	},
	{
		Name: "tombstones-unbounded", Breaks: "A record grows with each transaction that was undone.",
		File:   "shared/record/keeper.go",
		Before: "if over <= 0 {", After: "if over <= 1<<20 {",
		Tests: in("./shared/record"),
	},
	{
		Name: "journal-unbounded", Breaks: "A record grows with each change that was ever made.",
		File:   "shared/record/rules.go",
		Before: "len(entries) - MaxEntries; over > 0 {", After: "len(entries) - MaxEntries; over > 1<<20 {",
		Tests: in("./shared/record"),
	},
	{
		Name: "undo-of-another's", Breaks: "An undo takes away what another transaction has there.",
		File:   "shared/record/rules.go",
		Before: "if r.TransactionID == by.TransactionID {", After: "if r.Live() {",
		Tests: in("./shared/record"), Invariant: "completed",
	},
	{
		Name: "put-over-another's", Breaks: "A PUT takes over what another transaction has there.",
		File:   "shared/record/rules.go",
		Before: "case r.TransactionID != by.TransactionID:\n\t\treturn \"\", problem.New(OwnedByAnother, \"%s belongs to another transaction than %s\", r.ID, by.TransactionID)",
		After:  "case r.TransactionID != by.TransactionID:\n\t\treturn Changed, nil",
		Tests:  in("./shared/record"), Invariant: "completed",
	},
	{
		Name: "older-revision-accepted", Breaks: "A late call of an older revision overwrites the newer one.",
		File:   "shared/record/rules.go",
		Before: `return "", problem.New(StaleRevision, "revision %d is there, %d came", r.Revision, by.Revision)`, After: "return Changed, nil",
		Tests: in("./shared/record"), Invariant: "content", Chaos: late(),
	},
	{
		Name: "repeat-is-a-change", Breaks: "A repeated PUT is made, and noted, again.",
		File:   "shared/record/rules.go",
		Before: "with other content\", by.Revision)\n\t}\n\treturn \"\", nil", After: "with other content\", by.Revision)\n\t}\n\treturn Changed, nil",
		Tests: in("./shared/record"), Invariant: "journals",
	},
	{
		Name: "carrier-not-booked", Breaks: "No carrier is booked for what is just too far for a drone.",
		File:   "shared/delivery/transportation/service.go",
		Before: "b.Required = b.DistanceKm > s.cfg.DroneReachKm", After: "b.Required = b.DistanceKm > 2*s.cfg.DroneReachKm",
		Tests: in("./shared/delivery/transportation"),
	},
	{
		Name: "booking-made-again", Breaks: "A change of a booking makes another one.",
		File:   "shared/delivery/transportation/service.go",
		Before: "case live != nil && live.Required:", After: "case live != nil && live.Required && live.Ask == ask:",
		Tests: in("./shared/delivery/transportation"),
	},
	{
		Name: "flight-undone-after-its-pickup", Breaks: "A drone's DELETE after the pickup is done, and a second drone can fly for the package.",
		File:   "shared/delivery/drone/change.go",
		Before: "return rec.Live() && (rec.Content.PickedUp || !now.Before(rec.Content.PickupAt))", After: "return rec.Live() && now.Before(rec.Content.PickupAt.Add(-24*time.Hour))",
		Tests: in("./shared/delivery/drone"), Invariant: "grounded",
	},
	{
		Name: "refused-undo-not-kept", Breaks: "That an undo was refused after the pickup is not on record, and a clock behind lets the next one through.",
		File:   "shared/delivery/drone/service.go",
		Before: "rec.Content.PickedUp = true", After: "rec.Content.PickedUp = told",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "change-confirmed-after-the-pickup", Breaks: "A change that took until the pickup is confirmed.",
		File:   "shared/delivery/drone/assign.go",
		Before: "\tif pickedUp(rec, now) {\n\t\treturn false, nil\n\t}\n", After: "",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "holds-overlap", Breaks: "A drone is lent for a window in which another has it.",
		File:   "shared/delivery/drone/hold.go",
		Before: "return w.From < other.Until && other.From < w.Until", After: "return w.From == other.From && other.Until == w.Until",
		Tests: in("./shared/delivery/drone"), Invariant: "flights",
	},
	{
		Name: "windows-that-touch-overlap", Breaks: "A drone that another gives back at that moment is not to be had.",
		File:   "shared/delivery/drone/hold.go",
		Before: "return w.From < other.Until && other.From < w.Until", After: "return w.From <= other.Until && other.From <= w.Until",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "drone-held-from-now-on", Breaks: "A pickup that is far ahead holds its drone from now on.",
		File:   "shared/delivery/drone/hold.go",
		Before: "\tfrom := f.DepartAt.Add(-c.scaled(c.Approach))\n", After: "\tfrom := now\n",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "holds-without-a-bound", Breaks: "A drone's document takes any number of holds.",
		File:   "shared/delivery/drone/hold.go",
		Before: "return others+2 <= maxHolds", After: "return others+2 <= 100*maxHolds",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "drone-never-freed", Breaks: "An undo leaves the drone held.",
		File:   "shared/delivery/drone/claim.go",
		Before: "\t\t\tv.Drone.hold(transactionID, s.now())\n", After: "",
		Tests: in("./shared/delivery/drone"), Invariant: "drones",
	},
	{
		Name: "claim-on-its-way-not-stopped", Breaks: "A claim that is on its way when its assignment is undone takes the drone for nobody.",
		File:   "shared/delivery/drone/claim.go",
		Before: "if !held && v.ETag != left.ETag {", After: "if !held {",
		Tests: in("./shared/delivery/drone"), Invariant: "drones",
	},
	{
		Name: "drone-before-its-intent", Breaks: "A drone is claimed before the assignment says so.",
		File:   "shared/delivery/drone/assign.go",
		Before: "if etag, err = a.intend(ctx, &rec, exists, etag, drone); err != nil {",
		After:  "if ok, err := a.claim(ctx, drone, windows...); err != nil || !ok {\n\t\treturn rec, \"\", false, err\n\t}\n\tif drone, err = a.drones.Read(ctx, chosen.Zone, chosen.DroneID); err != nil {\n\t\treturn rec, \"\", false, err\n\t}\n\tif etag, err = a.intend(ctx, &rec, exists, etag, drone); err != nil {",
		Tests:  in("./shared/delivery/drone"),
	},
	{
		Name: "too-heavy-flies", Breaks: "A package that no drone can carry gets one.",
		File:   "shared/delivery/drone/assign.go",
		Before: "ask.PackageDetail.WeightKg > s.cfg.CapacityKg", After: "ask.PackageDetail.WeightKg > 2*s.cfg.CapacityKg",
		Tests: in("./shared/delivery/drone"),
	},
	{
		Name: "platform's-answer-is-a-verdict", Breaks: "What a stopped app answers is taken for the service's own no.",
		File:   "shared/backendclient/classify.go",
		Before: "http.StatusRequestTimeout && isWord:", After: "http.StatusRequestTimeout && (isWord || a.status == http.StatusNotFound):",
		Tests: in("./shared/backendclient"), Invariant: "accepted",
	},
}
