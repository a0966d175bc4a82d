package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

// engines are faults in what is done for a message.
var engines = []mutant.Mutant{
	{
		Name: "call-before-its-save", Breaks: "Calls are made before the save that says so.",
		File:   "shared/engine/handle.go",
		Before: "newTag, err := s.write(ctx, next, etag)",
		After:  "if early := *s; next.Lease.Runner == s.id {\n\t\tearly.p = next\n\t\tearly.callAll(ctx)\n\t}\n\tnewTag, err := s.write(ctx, next, etag)",
		Tests:  in("./shared/engine"), Invariant: "undone",
	},
	{
		Name: "settled-although-not-saved", Breaks: "A message is settled although what came of its calls could not be saved.",
		File:   "shared/engine/session.go",
		Before: "\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\ts.tellPutOff(ctx)",
		After:  "\t\tif err != nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\ts.tellPutOff(ctx)",
		Tests:  in("./shared/engine"),
	},
	{
		Name: "settled-although-not-stored", Breaks: "A message is settled although its operation could not be stored.",
		File:   "shared/engine/handle.go",
		Before: `return again(err), fmt.Errorf("write transaction: %w", err)`,
		After:  "if failure.Is(err, failure.Transient) {\n\t\treturn settled, nil\n\t}\n\treturn again(err), fmt.Errorf(\"write transaction: %w\", err)",
		Tests:  in("./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "refused-and-forgotten", Breaks: "A message is settled although its operation, which the transaction refuses, could not be stored outside.",
		File:   "shared/engine/receive.go",
		Before: "if err := s.r.Outside.Create(ctx, o); err != nil {", After: `if err := s.r.Outside.Create(ctx, o); err != nil && o.ID == "" {`,
		Tests: in("./shared/engine"),
	},
	{
		Name: "refused-and-applied", Breaks: "An operation that was refused for want of room is carried out when it comes once more.",
		File:   "shared/engine/receive.go",
		Before: `if !known || op.Caller == "" ||`, After: `if known ||`,
		Tests: in("./shared/engine"),
	},
	{
		Name: "wake-sent-before-its-save", Breaks: "A wake is sent before the document tells of it.",
		File:   "shared/engine/handle.go",
		Before: "if _, err := s.write(ctx, next, etag); err != nil {\n\t\treturn repeatable(err)\n\t}\n\treturn settled, s.r.Successor(ctx, next)",
		After:  "if err := s.r.Successor(ctx, next); err != nil {\n\t\treturn settled, err\n\t}\n\tif _, err := s.write(ctx, next, etag); err != nil {\n\t\treturn repeatable(err)\n\t}\n\treturn settled, nil",
		Tests:  in("./shared/engine"),
	},
	{
		Name: "no-successor", Breaks: "No wake is sent for what is left to do.",
		File:   "shared/engine/session.go",
		Before: "\ts.tellPutOff(ctx)\n\treturn s.r.Successor(ctx, s.p)\n}", After: "\ts.tellPutOff(ctx)\n\treturn nil\n}",
		Tests: in("./shared/engine"),
	},
	{
		Name: "lost-lease-goes-on", Breaks: "A runner that has lost its lease writes its results all the same.",
		File:   "shared/engine/session.go",
		Before: "case p.Lease.Epoch == s.epoch && p.Lease.Runner == s.id && p.Saves == last.Saves:", After: "case p.ID == last.ID:",
		Tests: in("./shared/engine"), Invariant: "undone",
	},
	{
		Name: "call-behind-the-lease", Breaks: "Calls start that may end after the lease.",
		File:   "shared/engine/call.go",
		Before: "end := earliest(f.Began.Add(b.StepTimeout), s.deadline, s.p.Lease.Until.Add(-LeaseMargin))", After: "end := earliest(f.Began.Add(b.StepTimeout), s.deadline)",
		Tests: in("./shared/engine"),
	},
	{
		Name: "lease-without-an-end", Breaks: "The lease of a runner that died keeps others out for ever.",
		File:   "shared/engine/handle.go",
		Before: "case base.Lease.Live(now):", After: `case base.Lease.Runner != "":`,
		Tests: in("./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "message-id-used-again", Breaks: "All wakes of a transaction have the same MessageID.",
		File:   "shared/engine/envelope.go",
		Before: "strconv.Itoa(wake)", After: "strconv.Itoa(min(wake, 1))",
		Tests: in("./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "old-operation-run", Breaks: "An operation that is older than documents are kept is carried out, maybe again.",
		File:   "shared/engine/schedule.go",
		Before: "age > w.r.Budgets.DocumentTTL", After: "age > 100*w.r.Budgets.DocumentTTL",
		Tests: in("./shared/engine"),
	},
	{
		Name: "dead-letter-not-recorded", Breaks: "The operation of a dead letter is not put on record.",
		File:   "shared/engine/deadletter.go",
		Before: "fresh, err := r.receiveDead(ctx, e)", After: "fresh, err := false, error(nil)",
		Tests: in("./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "dead-letter-wakes-nobody", Breaks: "A dead letter is counted, and no wake takes its place.",
		File:   "shared/engine/deadletter.go",
		Before: "p.RaiseWake(now.Add(r.Budgets.Backoff(r.Jitter()).Delay(p.DeadLetters)))", After: "p.WakeAt = workflow.At(now.Add(r.Budgets.Backoff(r.Jitter()).Delay(p.DeadLetters)))",
		Tests: in("./shared/engine"),
	},
	{
		Name: "dead-letters-add-up", Breaks: "The count of dead letters is never set back, whatever the transaction gets done.",
		File:   "shared/workflow/record.go",
		Before: "p.DeadLetters = 0\n", After: "p.DeadLetters += 0\n",
		Tests: in("./shared/engine"),
	},
	{
		Name: "every-dead-letter-counts", Breaks: "Each message that dies in one outage counts, not all of them once.",
		File:   "shared/engine/deadletter.go",
		Before: "if send = true; wake < p.DeadWake {", After: "if send = true; wake < 0 {",
		Tests: in("./shared/engine"),
	},
	{
		Name: "sweep-sends-the-same-wake", Breaks: "Sweep sends the wake again that nobody has answered.",
		File:   "shared/engine/sweep.go",
		Before: "p.RaiseWake(r.Now().Add(r.Budgets.Backoff(r.Jitter()).Delay(p.Sweeps)))", After: "p.WakeAt = workflow.At(r.Now().Add(r.Budgets.Backoff(r.Jitter()).Delay(p.Sweeps)))",
		Tests: in("./shared/engine"), Invariant: "accepted",
	},
	{
		Name: "sweep-leaves-notices", Breaks: "Nobody asks again for notices that were not delivered.",
		File:   "shared/engine/sweep.go",
		Before: "if len(p.Outbox.Notices) == 0 ||", After: "if len(p.Outbox.Notices) <= 1 ||",
		Tests: in("./shared/engine"), Invariant: "notices",
	},
	{
		Name: "notice-taken-before-it-is-told", Breaks: "A notice leaves the outbox although the receiver has not taken it.",
		File:   "shared/notify/notify.go",
		Before: "p.Outbox.Laters = laters\n", After: "p.Outbox.Laters = laters\n\t\t\tp.Notified(p.Outbox.Notices[0].Number)\n",
		Tests: in("./shared/notify"),
	},
	{
		Name: "dead-letter-settled-too-soon", Breaks: "A dead letter is completed although its transaction could not be woken.",
		File:   "shared/quarantine/service.go",
		Before: `return fmt.Errorf("wake transaction %s after a dead letter: %w", id, err)`, After: "return nil",
		Tests: in("./shared/quarantine"),
	},
	{
		Name: "stranger-sees", Breaks: "Who asks for another's transaction gets it.",
		File:   "shared/ingest/progress.go",
		Before: "f.progress == nil || f.progress.SeenBy(caller)", After: "true",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "refusal-told-to-all", Breaks: "Whoever asks for a stranger's operation gets it.",
		File:   "shared/ingest/progress.go",
		Before: "o.TransactionID == id && workflow.Owns(o.Caller, caller):", After: "o.TransactionID == id:",
		Tests: in("./shared/ingest"),
	},
	{
		Name: "operation-outside-lives-for-ever", Breaks: "An operation on record outside of its transaction is kept for ever.",
		File:   "shared/engine/receive.go",
		Before: "o.TTL = int(s.r.Budgets.DocumentTTL / time.Second)", After: "o.TTL = 0 * int(s.r.Budgets.DocumentTTL/time.Second)",
		Tests: in("./shared/engine"), Invariant: "lifetimes",
	},
	{
		Name: "operation-outside-without-an-end", Breaks: "An operation on record outside of its transaction has no end.",
		File:   "shared/engine/receive.go",
		Before: "o.EndedAt = workflow.At(s.r.Now())", After: "_ = o.EndedAt",
		Tests: in("./shared/engine"), Invariant: "operations",
	},
	{
		Name: "dead-letter-of-a-live-lease-sticks", Breaks: "A dead letter ends a transaction that somebody is working on.",
		File:   "shared/engine/deadletter.go",
		Before: "case live: //", After: "case live && p.DeadLetters == 0: //",
		Tests: in("./shared/engine"),
	},
	{
		Name: "dead-letters-without-a-bound", Breaks: "A transaction whose messages die time and again is never left to an operator.",
		File:   "shared/engine/deadletter.go",
		Before: "case p.DeadLetters > r.Budgets.DeadLetters:", After: "case p.DeadLetters > 100*r.Budgets.DeadLetters:",
		Tests: in("./shared/engine"),
	},
}
