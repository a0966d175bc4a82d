package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// ingestion are faults on the way to the hub.
var ingestion = []mutant.Mutant{
	{
		Name: "accepted-without-the-hub", Breaks: "A request is answered 202 before the hub has acknowledged its event.",
		File:   "shared/ingest/writer.go",
		Before: "select {\n\tcase err := <-who.done:\n\t\tw.waiters.Put(who) // nobody else knows it any more\n\t\treturn err\n\tcase <-ctx.Done():\n\t\treturn fmt.Errorf(\"%w: %w\", ErrUnacknowledged, context.Cause(ctx))\n\t}",
		After:  "_ = who\n\treturn nil",
		Tests:  in("./shared/ingest"), Invariant: "accepted",
	},
	{
		Name: "failed-batch-is-acknowledged", Breaks: "The callers of a batch that failed are told that it is on the hub.",
		File:   "shared/ingest/lane.go",
		Before: "who.done <- err", After: "who.done <- nil",
		Tests: in("./shared/ingest"), Invariant: "accepted",
	},
	{
		Name: "full-buffer-drops", Breaks: "An event for which there is no place is dropped without a word.",
		File:   "shared/ingest/lane.go",
		Before: "return nil, ErrBusy", After: "dropped := &waiter{done: make(chan error, 1)}\n\t\tdropped.done <- nil\n\t\treturn dropped, nil",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "failed-partition-stays", Breaks: "What a partition refuses is sent to no other one, and the next batches go there, too.",
		File:   "shared/ingest/lane.go",
		Before: "p.rests = now.Add(rest)\n\tif other := w.free(now)", After: "if other := w.free(now)",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "hanging-partition-holds-up-all", Breaks: "No other lane opens while a partition doesn't acknowledge.",
		File:   "shared/ingest/lane.go",
		Before: "at = at.Add(patience)", After: "return false",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "reused-key-accepted", Breaks: "Another content under a key or an id that is taken is accepted.",
		File:   "shared/ingest/accept.go",
		Before: `return Result{}, fmt.Errorf("%s transaction %s: %w", r.Operation, r.TransactionID, other)`, After: "return s.send(ctx, r, in, other == nil)",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "repeat-is-a-new-operation", Breaks: "A repeated request gets an operation of its own.",
		File:   "shared/ingest/accept.go",
		Before: "return s.send(ctx, kept, in, kept.OperationID != r.OperationID)", After: "return s.send(ctx, r, in, kept.OperationID != r.OperationID)",
		Tests: in("./shared/ingest"), Invariant: "requests",
	},
	{
		Name: "changed-request-is-another", Breaks: "A repeat is known by the current request, which may have been changed.",
		File:   "shared/ingest/accept.go",
		Before: "same := delivery.Hash == r.Hash\n", After: "same := p.Revision <= 1 && workflow.SameJSON(p.Request, in.Body)\n",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "change-by-a-stranger", Breaks: "An operation on another's transaction is accepted.",
		File:   "shared/ingest/change.go",
		Before: "known && !workflow.Owns(owner, in.Caller)", After: "known && !workflow.Owns(owner, owner)",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "old-id-is-young", Breaks: "An id is taken for known however old it is.",
		File:   "shared/ingest/known.go",
		Before: "return at, age < k.Retention && age > -clockSkew", After: "return at, age < 100*k.Retention && age > -clockSkew",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "one-caller-takes-all", Breaks: "A caller may send as many requests as it likes.",
		File:   "shared/auth/limiter.go",
		Before: "r.CancelAt(now)\n\treturn wait, false", After: "r.CancelAt(now)\n\treturn 0, true",
		Tests: in("./shared/auth"),
	},
	{
		Name: "refused-requests-count", Breaks: "A request that is refused for the rate of its caller delays the next one.",
		File:   "shared/auth/limiter.go",
		Before: "\tr.CancelAt(now)\n", After: "",
		Tests: in("./shared/auth"),
	},
	{
		Name: "pickup-without-a-horizon", Breaks: "A pickup is taken however far ahead it is.",
		File:   "shared/delivery/request.go",
		Before: "!latest.IsZero() && pickup.After(latest)", After: "latest.IsZero() && pickup.After(latest)",
		Tests: in("./shared/delivery"),
	},
	{
		Name: "documents-die-before-messages", Breaks: "A lifetime of documents is accepted that a message can outlive.",
		File:   "shared/settings/rules.go",
		Before: "b.DocumentTTL > b.HubRetention+b.QueueTTL),", After: "b.DocumentTTL > b.HubRetention),",
		Tests: in("./shared/settings"),
	},
	{
		Name: "queue-named-with-a-slash", Breaks: "A queue's name is accepted that can't be a part of a document's id.",
		File:   "shared/settings/table.go",
		Before: "([A-Za-z0-9._-]{0,178}", After: "([A-Za-z0-9._/-]{0,178}",
		Tests: in("./shared/settings"),
	},
	{
		Name: "dots-are-an-id", Breaks: "An id of dots is accepted, which means something else in a path.",
		File:   "shared/problem/id.go",
		Before: `|| strings.Trim(id, ".") == ""`, After: `|| strings.Trim(id, " ") == ""`,
		Tests: in("./shared/problem"),
	},
	{
		Name: "keys-run-into-callers", Breaks: "A caller and its key can make the id of another caller and another key.",
		File:   "shared/ingest/key.go",
		Before: `"%d:%s%s", len(caller), caller, key`, After: `"%s%s", caller, key`,
		Tests: in("./shared/ingest"),
	},
}

// relays are faults on the way from the hub to the queue.
var relays = []mutant.Mutant{
	{
		Name: "position-before-the-hand-over", Breaks: "The position is stored before the events are handed over.",
		File:   "shared/relay/relay.go",
		Before: "if err := s.handle(ctx, b); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\thandedOver = true",
		After:  "at.sequence, at.savedAt = last, s.c.Now()\n\t\t\tif _, err := s.save(ctx, b, at); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\treturn s.handle(ctx, b)",
		Tests:  in("./shared/relay"), Invariant: "accepted",
		Chaos: faults("host.stopinretry=20,servicebus.busy=0.7"),
	},
	{
		Name: "gap-not-filled", Breaks: "What the trigger has skipped stays on the hub.",
		File:   "shared/relay/relay.go",
		Before: "at, err := s.fillGap(ctx, b)", After: "at, err := s.position(ctx, b, false)",
		Tests: in("./shared/relay"), Invariant: "accepted",
	},
	{
		Name: "unreadable-dropped", Breaks: "An event that can't be read goes nowhere.",
		File:   "shared/relay/relay.go",
		Before: "if err := s.keep(ctx, b, e, reason, err); err != nil {", After: "if err == nil && reason != \"\" {",
		Tests: in("./shared/relay"), Invariant: "quarantine",
	},
	{
		Name: "unsent-counts-as-relayed", Breaks: "A batch that the queue did not take counts as handed over.",
		File:   "shared/relay/relay.go",
		Before: `return fmt.Errorf("relay %d events of partition %s: %w", len(messages), b.Partition, err)`, After: "return nil",
		Tests: in("./shared/relay"), Invariant: "accepted",
	},
	{
		Name: "one-message-per-transaction", Breaks: "The operations of one transaction have the same MessageID.",
		File:   "shared/relay/run.go",
		Before: "MessageID: e.envelope.OperationID", After: "MessageID: e.envelope.TransactionID",
		Tests: in("./shared/relay"), Invariant: "operations",
	},
	{
		Name: "batch-ends-before-its-events", Breaks: "A batch counts as done though an event of it is not.",
		File:   "shared/relay/run.go",
		Before: "return errors.Join(failed...)", After: "return nil",
		Tests: in("./shared/relay"), Invariant: "accepted",
	},
	{
		Name: "stream-holds-its-partition", Breaks: "Relay repeats a batch for an event that the queue could have.",
		File:   "shared/relay/run.go",
		Before: "case s.c.Runner.Patient && !failure.Is(err, failure.Permanent) && !failure.Is(err, failure.Invalid):",
		After:  "case !failure.Is(err, failure.Permanent) && !failure.Is(err, failure.Invalid):",
		Tests:  in("./shared/relay"),
	},
	{
		Name: "events-overtake-one-that-waits", Breaks: "An event runs although one before it, of the same transaction, is to come again.",
		File:   "shared/relay/run.go",
		Before: "break // what came later waits, too", After: "continue",
		Tests: in("./shared/relay"),
	},
	{
		Name: "patience-without-end", Breaks: "Relay begins further stages however slow a transaction is.",
		File:   "shared/engine/session.go",
		Before: "case ctx.Err() != nil || s.impatient(now):", After: "case ctx.Err() != nil:",
		Tests: in("./shared/engine"),
	},
	{
		Name: "patience-repeats", Breaks: "Relay repeats a call after its patience has ended.",
		File:   "shared/engine/call.go",
		Before: "s.impatient(s.r.Now().Add(pause))", After: "s.impatient(f.Began)",
		Tests: in("./shared/engine"),
	},
	{
		Name: "own-write-taken-for-a-repeat", Breaks: "A write whose answer is lost counts as an event that came again.",
		File:   "shared/engine/handle.go",
		Before: `e.Operation == "" || s.doubt || `, After: `e.Operation == "" || `,
		Tests: in("./shared/engine"),
	},
	{
		Name: "position-goes-back", Breaks: "A late batch takes the position back.",
		File:   "shared/relay/relay.go",
		Before: "if at.sequence >= last {", After: "if at.sequence == last {",
		Tests: in("./shared/relay"),
	},
	{
		Name: "replay-without-an-end", Breaks: "A replay also hands over what the trigger still has to read.",
		File:   "shared/relay/replay.go",
		Before: "To: at.SequenceNumber}", After: "To: max(at.SequenceNumber, extent.Last)}",
		Tests: in("./shared/relay"),
	},
	{
		Name: "replay-is-a-repeat", Breaks: "The queue drops what a replay sends, as a repeat of what it has lost.",
		File:   "shared/relay/replay.go",
		Before: "events[i].again = ids", After: "_ = i",
		Tests: in("./shared/relay"),
	},
	{
		Name: "replay-from-what-is-gone", Breaks: "A replay from a time before the hub's oldest event passes over what has expired.",
		File:   "shared/relay/replay.go",
		Before: "first > extent.First || extent.First == 0", After: "true",
		Tests: in("./shared/relay"),
	},
	{
		Name: "reader-of-each-batch", Breaks: "Operators are told that each batch had another owner.",
		File:   "shared/relay/relay.go",
		Before: "if at.by != s.c.Process {", After: "{",
		Tests: in("./shared/relay"),
	},
	{
		Name: "catch-up-runs-ahead", Breaks: "CatchUp works beside a trigger that is working off a backlog.",
		File:   "shared/relay/catchup.go",
		Before: "err != nil || at.savedAt.After(quiet)", After: "err != nil",
		Tests: in("./shared/relay"),
	},
	{
		Name: "recreated-hub-not-seen", Breaks: "The position of a hub that is gone counts for the one that has its name now.",
		File:   "shared/relay/position.go",
		Before: "case at.hub.Equal(created):", After: "case !at.hub.IsZero():",
		Tests: in("./shared/relay"), Invariant: "accepted", Chaos: late(),
	},
	{
		Name: "hub-of-before-by-its-numbers", Breaks: "A position from before hubs were told apart is taken for one in the hub that is there, however far that has come.",
		File:   "shared/relay/position.go",
		Before: "if extent.Last >= at.sequence {", After: "if extent.Last >= -1 {",
		Tests: in("./shared/relay"),
	},
	{
		Name: "numbers-that-went-back-not-seen", Breaks: "CatchUp leaves a partition whose numbers went back.",
		File:   "shared/relay/catchup.go",
		Before: "if at.sequence > extent.Last {", After: "if at.sequence > extent.Last+1000 {",
		Tests: in("./shared/relay"),
	},
	{
		Name: "half-a-gap-is-the-gap", Breaks: "A gap of which the first part has expired is passed over in silence.",
		File:   "shared/relay/gap.go",
		Before: "\t\ts.lost(ctx, b, at, next-1)\n", After: "",
		Tests: in("./shared/relay"),
	},
	{
		Name: "hole-in-a-gap-passed-over", Breaks: "Events that are missing in the middle of a gap are passed over in silence.",
		File:   "shared/relay/gap.go",
		Before: "events = consecutive(events)\n", After: "",
		Tests: in("./shared/relay"),
	},
}
