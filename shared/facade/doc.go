// Package facade reaches a service that isn't ours: one that knows idempotency
// keys, but no transactions, no revisions and no tombstones, and that may answer
// late. It stands between the workflow and such a service, and gives the
// workflow what it asks of every backend (package record).
//
//   - The intent is saved before the service is called. The call goes out under a
//     key of the transaction and the revision, so that a repeat finds what the
//     first one made.
//   - The record is live from the moment the service's answer is saved. A refusal
//     leaves nothing.
//   - The undo leaves the tombstone first. Then it repeats each call whose answer
//     nobody has seen, under its key, to learn what there is, and takes that back.
//     A call that is still on its way comes too late for both: the tombstone
//     refuses it here, and the key there gives it what was taken back.
//   - A change is a call of its own, under the key of its revision. What the
//     revision before got is taken back once the new answer is saved.
//
// docs/facade.md says what such a service must give.
//
// Reading order: content.go (what is kept), facade.go (the PUT), undo.go (the
// DELETE, and taking back).
package facade
