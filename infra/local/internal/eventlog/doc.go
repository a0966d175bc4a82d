// Package eventlog holds the rules of Azure Event Hubs: partitions with
// sequence numbers and offsets, start positions, retention, the choice of a
// partition, and which reader may read.
//
// It is pure: nothing here starts a goroutine, does I/O, waits or has a clock.
// No type is safe for concurrent use. A [Partition] returns the records to keep
// as a [Change]; a caller that stores every Change in order can rebuild an
// equal Partition with [Load], and reads the bodies of events from its own
// store.
//
// Appending has two steps: Append gives events their numbers, Commit makes them
// readable. Between the two the caller stores the Change, so that no reader
// sees, and checkpoints, what a crash could take back.
//
// The rules follow Microsoft Learn, "Features and terminology in Azure Event
// Hubs" and "Event processor host" (owner levels), and the filter expressions
// that the Azure SDKs send.
//
// Not emulated: capture, schema registry, compaction, geo-replication,
// idempotent publishing, throughput units and throttling, and the byte layout
// of the service's own offsets and partition hash.
package eventlog
