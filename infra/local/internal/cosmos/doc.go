// Package cosmos is a server of the Azure Cosmos DB REST protocol (API for
// NoSQL) as the official SDK for Go, azcosmos, uses it in gateway mode.
//
// Served: the account document; databases; containers with one partition key
// path, time to live and policies; throughput offers; items (create, upsert,
// read, replace, delete, patch) with conditions; transactional batch; partition
// key ranges; queries and feeds with continuations. A store gets every change
// before an answer tells of it. Memory holds what finds items, the store their
// texts; New reads everything once.
//
// Requests may rely on this:
//   - An operation on an item, and a whole transactional batch, is atomic and
//     isolated; conditions are checked in the same step as the write.
//   - Every answer, even to a read, tells only of writes that the store has
//     taken.
//   - A query reads only what an index finds, where its WHERE clause compares a
//     path that the container's policy includes by name: in a partition, or in
//     all where the partition key is the id. Its results then come in the order
//     of the index.
//   - A partition key value lives in one of the container's ranges, chosen by
//     the same hash that azcosmos computes.
//
// With Config.Faults operations on items are throttled, unavailable, timed out
// or slow, answers are lost, and documents change just before conditional
// writes. Acknowledged writes stay; faults.go says what clients see. Writers
// can be killed at their writes: mortal.go.
//
// Lock order: Server.mu before keyRange.mu, and never two ranges at once. The
// store is called with the lock held, so that its batches have the order of the
// changes in memory, and its texts match memory; nobody waits for a commit
// under a lock.
//
// Not emulated, and refused with an error of the service: Microsoft Entra ID and
// resource tokens; hierarchical partition keys; unique keys and the analytical
// store; stored procedures, triggers, user-defined functions, users,
// permissions, conflicts, attachments and client encryption keys; the change
// feed; query plans, GROUP BY and what package sql lists; consistency stronger
// than Session; non-atomic batches (bulk); the indexing directive Exclude;
// changing a database. Direct mode: there are no addresses of replicas, so that
// clients for .NET and Java need gateway mode.
//
// Not emulated, without a difference in answers: request units are plausible,
// not exact, and never used up (429 comes as a fault only); session tokens are given and not
// checked, since every read sees every write; indexing policies are stored, and
// only their composite indexes (for ORDER BY of several paths) and paths that they
// include by name (for ORDER BY of a missing path, and as above; changed ones from
// the next start on) have an effect; vector and
// full-text policies are stored without effect; ranges never split, and a
// container of partition key version 1 has one whatever Config says; there is one
// region, and priority levels and throughput buckets are accepted and ignored.
//
// Facts: Microsoft Learn, "Azure Cosmos DB: REST API Reference" and the pages
// named at each rule; the requests and answers that azcosmos v1.5.0 sends and
// reads.
package cosmos
