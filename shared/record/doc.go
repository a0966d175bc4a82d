// Package record is what the backends share: how the effect of a transaction is
// kept, owned, journalled and buried.
//
// An effect is a record that one transaction owns. These rules hold for every
// backend, and make a workflow's retries and undos safe:
//
//   - On a live record, PUT by another transaction is refused (409), and DELETE
//     by another touches nothing.
//   - DELETE answers 204, even for an unknown record, and leaves a tombstone. A
//     PUT on its own transaction's tombstone is refused (410) and changes
//     nothing, however late it comes.
//   - A record keeps a bounded number of tombstones and journal entries. Older
//     tombstones live just as long beside it, in separate documents (ADR 15).
//   - What has happened in the world can't be undone: the backend of such an
//     effect (a drone that has picked up) refuses the DELETE for good
//     (CannotUndo, 409) and leaves no tombstone. An effect undone earlier stays
//     undone (204).
//   - A PUT has a revision. A lower revision than the record's is refused
//     (409), as is the same revision with other content; the same revision with
//     the same content is a repeat: it gets the same answer and writes nothing.
//
// Reading order: record.go (what is stored), rules.go (the rules, pure),
// keeper.go (read, decide, write under the ETag; documents beside a record),
// http.go (endpoints and requests), answer.go (the answers that the contracts
// share), store.go (the storage they need).
package record
