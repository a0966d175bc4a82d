package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// shards are faults of the rules of ADR 31.
var shards = []mutant.Mutant{
	{
		Name: "repeat-in-two-shards", Breaks: "A repeat goes where its caller is placed now, not where its first try went.",
		File:   "shared/ingest/accept.go",
		Before: "s.c.Known.Shards.remember(kept.TransactionID, kept.Shard)", After: "kept.Shard = r.Shard",
		Tests: in("./shared/ingest"), Invariant: "shards", Chaos: sharded(),
	},
	{
		Name: "entry-lost-in-a-move", Breaks: "What a caller sends who was moved to another shard isn't kept in the directory.",
		File:   "shared/ingest/accept.go",
		Before: "kept, err := s.c.Known.Requests.CreateIfAbsent(ctx, r)\n\tif err == nil && s.c.Known.over(kept) {",
		After:  "kept, err := r, error(nil)\n\tif r.Shard.IsZero() {\n\t\tkept, err = s.c.Known.Requests.CreateIfAbsent(ctx, r)\n\t}\n\tif err == nil && s.c.Known.over(kept) {",
		Tests:  in("./shared/ingest"), Invariant: "shards", Chaos: sharded(),
	},
	{
		Name: "place-not-kept", Breaks: "The directory keeps a request without its shard.",
		File:   "shared/ingest/request.go",
		Before: "`json:\"shard,omitzero\"`", After: "`json:\"-\"`",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "place-not-looked-at", Breaks: "All is sent to the first shard.",
		File:   "shared/ingest/accept.go",
		Before: "s.c.Known.Shards.At(ctx, r.Shard)", After: "s.c.Known.Shards.At(ctx, shard.First)",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "forged-place-followed", Breaks: "An id that nobody minted has the map read and its shard asked for.",
		File:   "shared/ingest/find.go",
		Before: "if in == shard.First || !k.forged(id, caller) {", After: "if in != 0 {",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "newer-place-not-found", Breaks: "An instance with an old map doesn't find what others have placed.",
		File:   "shared/ingest/find.go",
		Before: "in = now // it was placed by who has a newer map", After: "return found{shard: in, at: at}, nil",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "doubtful-goes-elsewhere", Breaks: "What may have been taken is sent to another shard, too.",
		File:   "shared/ingest/errors.go",
		Before: "return errors.Is(err, ErrBusy) ||", After: "return errors.Is(err, ErrBusy) || errors.Is(err, ErrUnacknowledged) ||",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "older-map-taken", Breaks: "An older map takes the place of a newer one.",
		File:   "shared/ingest/shards.go",
		Before: "m.Version < had.m.Version", After: "m.Version < 0",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "operators-overwrite", Breaks: "Of two operators the slower one is told that it won.",
		File:   "shared/ingest/shards.go",
		Before: "case e == m.History[len(m.History)-1]:", After: "case true:",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "closing-takes-pinned", Breaks: "A closing shard gets new transactions of its pinned callers.",
		File:   "shared/shard/map.go",
		Before: "i >= 0 && m.Shards[i].State == Open", After: "i >= 0",
		Tests: in("./shared/shard"),
	},
	{
		Name: "place-not-signed", Breaks: "Anyone can change the shard in an id.",
		File:   "shared/shard/mint.go",
		Before: "mac.Write(rest)", After: "mac.Write(rest[keyAt:])",
		Tests: in("./shared/shard"),
	},
	{
		Name: "other-shard-runs", Breaks: "A shard runs what belongs to another.",
		File:   "shared/engine/decode.go",
		Before: "e.Shard.OrFirst() != here.OrFirst()", After: "e.Shard > 65_534",
		Tests: in("./shared/engine", "./handlers"),
	},
	{
		Name: "wake-without-a-shard", Breaks: "A wake doesn't say which shard it is of.",
		File:   "shared/engine/wake.go",
		Before: "TraceParent: p.TraceParent, Shard: r.Shard,", After: "TraceParent: p.TraceParent,",
		Tests: in("./handlers"),
	},
	{
		Name: "place-not-renewed", Breaks: "The directory forgets where a transaction is that lasts.",
		File:   "shared/ingest/renew.go",
		Before: "return k.outlast(ctx, id, n, p.AcceptedAt.Time)", After: "return k.outlast(ctx, id, 0, p.AcceptedAt.Time)",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "change-does-not-renew", Breaks: "The directory forgets where a transaction is that was changed late.",
		File:   "shared/ingest/change.go",
		Before: "s.c.Known.outlast(ctx, id, f.shard, p.AcceptedAt.Time)", After: "nil",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "forgotten-request-repeated", Breaks: "An id of long ago begins as what it was then, and is too old.",
		File:   "shared/ingest/renew.go",
		Before: "return r.places() && r.AcceptedAt", After: "return r.ETag == \"x\" && r.AcceptedAt",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "refused-is-acknowledged", Breaks: "What an old map sends into a closed shard is acknowledged though its hub refuses.",
		File:   "shared/ingest/lane.go",
		Before: "if err == nil || failure.KindOf(err) != failure.Transient", After: "if err == nil || errors.Is(err, ErrRefusing) {\n\t\treturn nil\n\t}\n\tif failure.KindOf(err) != failure.Transient",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "first-refusal-goes-elsewhere", Breaks: "What was under way when the hub began to refuse is sent to another shard, too.",
		File:   "shared/ingest/lane.go",
		Before: "if refused { // a link", After: "if refused || true { // a link",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "closed-takes-changes", Breaks: "A closed shard is sent changes.",
		File:   "shared/ingest/shards.go",
		Before: "s.of(ctx, n).State == shard.Closed", After: "s.of(ctx, n).State == \"\"",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "closed-is-gone-at-once", Breaks: "What a closed shard still keeps is unknown.",
		File:   "shared/ingest/find.go",
		Before: "s.ClosedAt.Add(k.Lasting())", After: "s.ClosedAt",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "taken-away-is-asked", Breaks: "Requests to the ids of a shard that was taken away are asked to come again.",
		File:   "shared/ingest/find.go",
		Before: "s.State == shard.Closed && k.Now()", After: "s.State == shard.Closed && id == \"\" && k.Now()",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "open-shard-closed-at-once", Breaks: "An open shard is closed without having been emptied.",
		File:   "shared/shard/change.go",
		Before: "case s.State == Open:\n\t\treturn \"\", false, refused(\"shard %d is open: close", After: "case s.Number == 0:\n\t\treturn \"\", false, refused(\"shard %d is open: close",
		Tests: in("./shared/shard"),
	},
	{
		Name: "left-without-the-quarantine", Breaks: "A shard counts as empty with undecided entries in its quarantine.",
		File:   "shared/operate/left.go",
		Before: "note(int64(l.Undecided), ", After: "note(0*int64(l.Undecided), ",
		Tests: in("./shared/operate"),
	},
	{
		Name: "left-without-the-hub", Breaks: "A shard counts as empty with events that nobody has handed over.",
		File:   "shared/relay/partitions.go",
		Before: "events += max(0, extent.Last-", After: "events += 0 * max(0, extent.Last-",
		Tests: in("./shared/relay"),
	},
}
