// Package cosmosdb keeps the system's documents in Azure Cosmos DB for NoSQL.
//
// Database is the connection; Container has the operations on documents, and
// decides once what kind of failure an error is. Each store has its own file
// and implements an interface of the package that uses it.
//
// azcosmos has no query engine: across partitions the service itself serves
// filters and projections only, in pages that may be short or empty. So no
// query here orders, counts or aggregates.
//
// azcosmos keeps no session tokens, so under the account's default level
// "Session" a reader may miss its own write. The account's default consistency
// must be Strong or, in one region, BoundedStaleness; see
// https://learn.microsoft.com/azure/cosmos-db/consistency-levels.
package cosmosdb
