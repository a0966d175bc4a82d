// Package record is what the backends have in common: how the effect of a
// transaction is kept, owned, journalled and buried.
//
// An effect is a record that one transaction owns. The rules, which hold for
// every backend and make a workflow's retries and undos safe:
//
//   - PUT by another transaction on something live is refused (409), DELETE by
//     another touches nothing.
//   - DELETE answers 204, also for what it never saw, and leaves a tombstone.
//     A PUT on its own transaction's tombstone is refused (410) and changes
//     nothing, however late it comes.
//   - A record keeps so many tombstones and journal entries, and no more. Older
//     tombstones lie beside it, in documents of their own, for as long (ADR 15).
//   - What the world has done can't be undone: a backend whose effect is such
//     (a drone that has picked up) refuses the DELETE for good (CannotUndo, 409)
//     and leaves no tombstone. One that was undone before stays so (204).
//   - A PUT is of a revision. A lower one than the record's is refused (409),
//     the same one with other content, too; the same one with the same content
//     is a repeat: it gets the same answer and writes nothing.
//
// Reading order: record.go (what is stored), rules.go (the rules, pure),
// keeper.go (read, decide, write under the ETag; what lies beside a record), http.go (endpoints, and
// what requests say), answer.go (the answers that the contracts share), store.go
// (the storage they need).
package record
