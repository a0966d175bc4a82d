package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// runtimes are faults in the local runtime: a fault there makes it promise other
// things than Azure does.
var runtimes = []mutant.Mutant{
	{
		Name: "renewed-lock-forgotten", Breaks: "A lock that was renewed ends when it would have ended.",
		File:   "infra/local/internal/queue/settle.go",
		Before: "\te.until = now.Add(q.cfg.LockDuration).UnixNano()\n", After: "",
		Tests: in("./infra/local/internal/queue"),
	},
	{
		Name: "renewed-lock-not-stored", Breaks: "A lock that was renewed is forgotten with the process.",
		File:   "infra/local/internal/queue/settle.go",
		Before: "q.keepState(e)\n\treturn instant(e.until), q.take(), nil", After: "return instant(e.until), q.take(), nil",
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
		Name: "covered-by-half-the-condition", Breaks: "A query takes what the index finds for one of two conditions.",
		File:   "infra/local/internal/cosmos/sql/span.go",
		Before: "return some, false", After: "return some, true",
		Tests: in("./infra/local/internal/cosmos"), Run: "^TestIndex",
	},
	{
		Name: "page-skips-in-index", Breaks: "The next page of an indexed query leaves one out.",
		File:   "infra/local/internal/cosmos/index.go",
		Before: "behind.sequence+1", After: "behind.sequence+2",
		Tests: in("./infra/local/internal/cosmos"), Run: "^TestIndex",
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
	{
		Name: "request-of-a-body-repeated", Breaks: "The host repeats a request of whose body something was sent.",
		File:   "infra/local/internal/host/proxy_retry.go",
		Before: "\tu.read.Store(true)\n", After: "",
		Tests: in("./infra/local/internal/host"),
	},
	{
		Name: "bodyless-request-not-repeated", Breaks: "The host does not repeat a request without a body when the handler dies, as the real one does.",
		File:   "infra/local/internal/host/proxy_retry.go",
		Before: "|| try == proxyTries ||", After: "|| try >= 1 ||",
		Tests: in("./infra/local/internal/host"),
	},
	{
		Name: "body-at-the-limit-refused", Breaks: "The host refuses a body that is as large as it may be.",
		File:   "infra/local/internal/host/front.go",
		Before: "if r.ContentLength > limit {", After: "if r.ContentLength >= limit {",
		Tests: in("./infra/local/internal/host"),
	},
	{
		Name: "chunked-body-without-a-limit", Breaks: "The host takes a body of any size if its size is not announced.",
		File:   "infra/local/internal/host/front.go",
		Before: "\t\tr.Body = http.MaxBytesReader(w, r.Body, limit)\n", After: "",
		Tests: in("./infra/local/internal/host"),
	},
	{
		Name: "disposition-of-the-neighbour", Breaks: "A disposition that joins its neighbour's takes in one delivery that was not settled.",
		File:   "infra/local/internal/amqp/session_settle.go",
		Before: "if pending.some && id == pending.last+1 {", After: "if pending.some && id <= pending.last+2 {",
		Tests: in("./infra/local/internal/amqp"),
	},
	{
		Name: "range-without-its-end", Breaks: "Of a range of deliveries that the peer settles the last one stays unsettled.",
		File:   "infra/local/internal/amqp/session_settle.go",
		Before: "for i := range width + 1 {", After: "for i := range max(width, 1) {",
		Tests: in("./infra/local/internal/amqp"),
	},
	{
		Name: "reply-to-another's-link", Breaks: "A reply goes to the latest link of the connection, whoever has asked.",
		File:   "infra/local/internal/amqp/rpc_reply.go",
		Before: "r.target == replyTo || r.l.name == replyTo", After: "r.target != \"\" || r.l.name == replyTo",
		Tests: in("./infra/local/internal/amqp"),
	},
	{
		Name: "no-outcome-completes", Breaks: "A message that is settled without an outcome is completed.",
		File:   "infra/local/internal/amqp/link_transmit.go",
		Before: "outcome = Outcome{Kind: Released}", After: "outcome = Outcome{Kind: Accepted}",
		Tests: in("./infra/local/internal/amqp"),
	},
	{
		Name: "released-counts", Breaks: "A message that a receiver gives back unread is counted as a delivery that failed.",
		File:   "infra/local/internal/broker/disposition.go",
		Before: "case amqp.Released:\n\t\treturn disposition{kind: release}, nil", After: "case amqp.Released:\n\t\treturn disposition{kind: abandon}, nil",
		Tests: in("./infra/local/internal/broker"),
	},
}
