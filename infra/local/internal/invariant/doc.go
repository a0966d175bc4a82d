// Package invariant proves from the stored data that nothing was lost, doubled
// or left half done: it reads a system at rest, and compares it with what its
// clients were promised.
//
// Check is pure: it judges a Snapshot, whatever its source. Collect takes one
// from a running Cosmos DB and Service Bus, the emulators or Azure; it reads
// several containers one after the other, so the system must be at rest, with
// no request and no wake on its way. The caller adds what the clients know, the
// Ledger, and the poison that it put on the hub.
//
// The rules hold for a run that is shorter than the time that tombstones and
// journals are kept. Instants of several machines are compared as they are: on
// one machine, as with the local runtime, there is one clock.
//
// Each business inherits the rules here; those of its own, and where its effects
// are, come with its trial (package shared/trial).
//
// Reading order: subject.go (of which business), snapshot.go (what is judged),
// report.go (the judgement), check.go (the list of invariants), index.go, then the
// invariants: accepted.go and operations.go (of the clients), history.go,
// completed.go, content.go, undone.go, journal.go (of the effects), shards.go, quarantine.go,
// rest.go (of what is left over), sizes.go; breaks.go (whether a rule is blind),
// story.go (what became of one transaction), collect.go and queues.go (the reading).
package invariant
