// Package engine runs the workflow: it brings a message and the document of its
// transaction together, takes the lease and runs the steps (the runner), wakes
// transactions that nobody works on, and counts dead letters until it needs an
// operator.
//
// The rules:
//
//   - A save records each call before it is made. The document is the plan:
//     only its Started (or Undoing) steps are called.
//   - Each save is a function of the document as last read, so that it can be
//     applied again when someone has added a wish meanwhile.
//   - A save in doubt is settled by reading: the epoch and the save counter tell
//     our own write, an added wish and the loss of the lease from each other.
//   - The message of an unfinished transaction is answered with success only
//     when the transaction's current wake is saved and sent. The save that
//     raises the next wake consumes a wake's message; any other message sends
//     the current wake again, which duplicate detection absorbs.
//   - An operation that the document refuses, or no longer holds, is on record
//     outside before its message is settled and before the document is saved.
//
// Reading order: envelope.go (what travels on the hub and on the queues),
// decode.go, budgets.go, ports.go, engine.go, schedule.go and supervise.go
// (what the two do differently), handle.go (which message does what), receive.go
// (its operation), session.go (the lease and its saves), call.go (in-place
// retries), wake.go (the successor), sweep.go, deadletter.go.
package engine
