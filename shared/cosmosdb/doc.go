// Package cosmosdb keeps the system's documents in Azure Cosmos DB for NoSQL.
//
// Database is the connection; Container has the operations on documents, and
// decides there, once, what kind of failure an error is. Each store has a file
// of its own and implements an interface of the package that uses it.
//
// azcosmos has no query engine: across partitions the service itself serves
// filters and projections only, in pages that may be short or empty. So no
// query here orders, counts or aggregates.
//
// azcosmos keeps no session tokens, so that under the account's default level
// "Session" a read may miss one's own write. The account's default consistency
// has to be Strong or, in one region, BoundedStaleness; see
// https://learn.microsoft.com/azure/cosmos-db/consistency-levels.
package cosmosdb
