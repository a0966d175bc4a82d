package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// What the adapters promise is tested together with the emulators.
var inContract = in("./infra/local/internal/contract")

const adapterTests = "^TestAdapters"

// adapters are faults in what speaks with the services.
var adapters = []mutant.Mutant{
	{
		Name: "etag-ignored", Breaks: "A document is replaced whoever has changed it meanwhile.",
		File:   "shared/cosmosdb/container.go",
		Before: "match := azcore.ETag(etag)", After: "match := azcore.ETagAny",
		Tests: inContract, Run: adapterTests, Invariant: "operations",
	},
	{
		Name: "create-overwrites", Breaks: "A document that is to be new takes the place of one that is there.",
		File:   "shared/cosmosdb/container.go",
		Before: "client.CreateItem(", After: "client.UpsertItem(",
		Tests: inContract, Run: adapterTests, Invariant: "operations",
	},
	{
		Name: "conflict-is-transient", Breaks: "A refused condition is taken for a disturbance of the service.",
		File:   "shared/cosmosdb/failure.go",
		Before: "case http.StatusConflict, http.StatusPreconditionFailed:\n\t\treturn failure.Conflict", After: "case http.StatusConflict, http.StatusPreconditionFailed:\n\t\treturn failure.Transient",
		Tests: in("./shared/cosmosdb"),
	},
	{
		Name: "sweep-finds-nothing", Breaks: "The list of overdue transactions has those that are not.",
		File:   "shared/cosmosdb/transactions.go",
		Before: "c.wakeAt < @before", After: "c.wakeAt > @before",
		Tests: inContract, Run: adapterTests, Invariant: "accepted",
	},
	{
		Name: "kept-request-forgotten", Breaks: "A repeated request gets its own record and not the first one's.",
		File:   "shared/cosmosdb/requests.go",
		Before: "return s.Read(ctx, r.ID)", After: "return r, nil",
		Tests: inContract, Run: adapterTests, Invariant: "requests",
	},
	{
		Name: "message-without-an-id", Breaks: "Messages have no MessageID of ours, so that no repeat of them is dropped.",
		File:   "shared/messaging/sender.go",
		Before: "MessageID: &m.MessageID, ", After: "",
		Tests: inContract, Run: adapterTests,
	},
	{
		Name: "message-sent-at-once", Breaks: "A message that is due later comes at once.",
		File:   "shared/messaging/sender.go",
		Before: "out.ScheduledEnqueueTime = &at", After: "_ = at",
		Tests: inContract, Run: adapterTests,
	},
	{
		Name: "dead-link-kept", Breaks: "A link to a queue that Service Bus has ended for good is used for ever.",
		File:   "shared/messaging/sender.go",
		Before: "return errors.As(err, &ended)", After: "return errors.As(err, &ended) && false",
		Tests: inContract, Run: adapterTests,
	},
	{
		Name: "schedules-mixed", Breaks: "Messages that are due at other times share a batch, and so a time.",
		File:   "shared/messaging/sender.go",
		Before: "k.at = m.At.UnixNano()", After: "k.at = 1",
		Tests: in("./shared/messaging"),
	},
	{
		Name: "messages-behind-a-full-batch", Breaks: "What does not fit into the first batch is not sent.",
		File:   "shared/messaging/sender.go",
		Before: "return n, nil", After: "return len(messages), nil",
		Tests: inContract, Run: adapterTests,
	},
	{
		Name: "events-behind-a-full-batch", Breaks: "Events that do not fit into the first batch are not sent.",
		File:   "shared/messaging/producer.go",
		Before: "rest = rest[n:]", After: "rest = nil",
		Tests: inContract, Run: adapterTests,
	},
	{
		Name: "gap-read-past-its-first-event", Breaks: "Of the events that the trigger has skipped the first is not read.",
		File:   "shared/messaging/reader.go",
		Before: "first := max(after+1, ", After: "first := max(after+2, ",
		Tests: inContract, Run: adapterTests, Invariant: "accepted",
	},
}

// handlers are faults between the Functions host and the services.
var handlers = []mutant.Mutant{
	{
		Name: "panic-is-success", Breaks: "The message of an invocation that panicked is completed.",
		File:   "shared/customhandler/event.go",
		Before: `err = fmt.Errorf("panic: %v", p)`, After: "err = nil",
		Tests: in("./shared/customhandler"),
	},
	{
		Name: "failure-answered-as-success", Breaks: "The message of an invocation that failed is completed.",
		File:   "shared/customhandler/event.go",
		Before: "respond(w, http.StatusInternalServerError, err)", After: "respond(w, http.StatusOK, nil)",
		Tests: in("./shared/customhandler"), Invariant: "accepted",
	},
	{
		Name: "poison-not-kept", Breaks: "A message that can't be processed is completed, and kept nowhere.",
		File:   "handlers/work.go",
		Before: "return a.services.quarantine.Poison(ctx, m)", After: "return nil",
		Tests: in("./handlers"), Run: "^TestPoison", Invariant: "quarantine",
	},
	{
		Name: "dead-letter-only-kept", Breaks: "A dead letter is kept, and its transaction is not woken.",
		File:   "handlers/routes.go",
		Before: "a.deadLetter(q.TransactionsQueue, s.quarantine.DeadLetter)", After: "a.deadLetter(q.TransactionsQueue, s.quarantine.Poison)",
		Tests: in("./handlers"), Run: "^TestDeadLetter", Invariant: "accepted",
	},
}
