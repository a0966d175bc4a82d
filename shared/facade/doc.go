// Package facade reaches a service that isn't ours: one that knows idempotency
// keys, but no transactions, no revisions and no tombstones, and that may
// answer late. It stands between the workflow and such a service, and keeps the
// workflow's contract for backends (package record).
//
//   - The intent is saved before the service is called. The call goes out under a
//     key of the transaction and the revision, so that a repeat finds what the
//     first one made.
//   - The record is live from the moment the service's answer is saved. A refusal
//     leaves nothing.
//   - The undo leaves the tombstone first. Then it repeats each unanswered call
//     under its key, to learn what exists, and takes that back. A call that is
//     still on its way comes too late in both places: here the tombstone
//     refuses it, and there the key returns what was taken back.
//   - A change is a separate call, under the key of its revision. Once the new
//     answer is saved, the previous revision's result is taken back.
//
// docs/facade.md says what such a service must give.
//
// Reading order: content.go (what is kept), facade.go (the PUT), undo.go (the
// DELETE, and taking back).
package facade
