package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// runtimes are faults in the local runtime: a fault there makes it promise other
// things than Azure does.
var runtimes = []mutant.Mutant{
	{
		Name: "renewed-lock-forgotten", Breaks: "A lock that was renewed ends when it would have ended.",
		File:   "infra/local/internal/queue/settle.go",
		Before: "\te.until = now.Add(q.cfg.LockDuration)\n", After: "",
		Tests: in("./infra/local/internal/queue"),
	},
	{
		Name: "renewed-lock-not-stored", Breaks: "A lock that was renewed is forgotten with the process.",
		File:   "infra/local/internal/queue/settle.go",
		Before: "q.keepState(e)\n\treturn e.until, q.take(), nil", After: "return e.until, q.take(), nil",
		Tests: in("./infra/local/internal/queue"),
	},
	{
		Name: "duplicate-delivered", Breaks: "The queue keeps a message that was sent before.",
		File:   "infra/local/internal/queue/enqueue.go",
		Before: "if seq, ok := q.remembered(m.ID); ok {", After: "if seq, ok := q.remembered(m.ID); ok && seq == 0 {",
		Tests: in("./infra/local/internal/queue"),
	},
	{
		Name: "delivery-not-counted", Breaks: "A message that is abandoned for ever is never dead-lettered.",
		File:   "infra/local/internal/queue/advance.go",
		Before: "\t\te.count++\n", After: "\t\te.count = max(e.count, 1)\n",
		Tests: in("./infra/local/internal/queue"),
	},
	{
		Name: "condition-ignored", Breaks: "Cosmos DB's emulator replaces a document whatever ETag is asked for.",
		File:   "infra/local/internal/cosmos/item.go",
		Before: `c.match != "*" && c.match != etag`, After: `c.match == "*" && c.match != etag`,
		Tests: in("./infra/local/internal/cosmos"), Invariant: "operations",
	},
	{
		Name: "answer-before-the-disk", Breaks: "Cosmos DB's emulator answers before the write is on disk.",
		File:   "infra/local/internal/cosmos/transaction.go",
		Before: "return outcomes, writes, pending.wait()", After: "_ = pending\n\treturn outcomes, writes, nil",
		Tests: in("./infra/local/internal/cosmos"),
	},
	{
		Name: "reader-begins-one-late", Breaks: "A reader of a partition misses the event it starts at.",
		File:   "infra/local/internal/eventlog/position.go",
		Before: "if !inclusive {\n\t\tseq++", After: "if inclusive {\n\t\tseq++",
		Tests: in("./infra/local/internal/eventlog"),
	},
	{
		Name: "failed-message-completed", Breaks: "The host completes a message whose invocation failed.",
		File:   "infra/local/internal/host/servicebus.go",
		Before: "if failure == nil {\n\t\terr = r.CompleteMessage", After: "if failure == nil || msg.DeliveryCount == 1 {\n\t\terr = r.CompleteMessage",
		Tests: in("./infra/local/internal/host"), Invariant: "accepted",
	},
	{
		Name: "lost-partition-checkpointed", Breaks: "The host checkpoints a batch whose partition it has lost.",
		File:   "infra/local/internal/host/partition.go",
		Before: "return lost || failure == nil || !p.host.repeats.forgotten()", After: "return !lost && (failure == nil || !p.host.repeats.forgotten())",
		Tests: in("./infra/local/internal/host"),
	},
}
