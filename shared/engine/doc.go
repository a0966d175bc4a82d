// Package engine runs the workflow: how a message meets the
// document of its transaction, how the one that takes the lease works (the
// runner), how transactions that nobody works on are woken, and how dead letters
// are counted until an operator is needed.
//
// The rules:
//
//   - No call is made before a save that says so. The document is the plan: what
//     is Started (or Undoing) in it, and nothing else, is called.
//   - Each save is a function applied to the document as it was last read, so
//     that it can be applied again when someone has added a wish meanwhile.
//   - A save in doubt is settled by reading: the epoch and the save counter tell
//     our own write, an added wish and the loss of the lease from each other.
//   - A message of an unfinished transaction is only answered with success when
//     the transaction's current wake is saved and sent. A wake's message is
//     consumed by the save that raises the next wake; any other message sends
//     the current wake again, which duplicate detection absorbs.
//   - An operation that the document does not take, or no longer holds, is on
//     record outside before its message is settled and before the document is
//     saved.
//
// Reading order: envelope.go (what travels on the hub and on the queues),
// decode.go, budgets.go, caller.go, engine.go, schedule.go and supervise.go
// (what the two do differently), handle.go (which message does what), receive.go
// (its operation), session.go (the lease and its saves), call.go (in-place
// retries), wake.go (the successor), sweep.go, deadletter.go.
package engine
