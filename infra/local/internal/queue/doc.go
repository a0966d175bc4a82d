// Package queue holds the rules of one Azure Service Bus queue and its
// dead-letter sub-queue: sequence numbers, locks, delivery counts, schedules,
// expiry, deferral, duplicate detection and dead-lettering.
//
// It is pure: a [Queue] starts no goroutine, does no I/O and has no clock;
// every operation that depends on time takes now. A Queue is not safe for
// concurrent use. Every operation first brings the queue up to now (expired
// locks and times to live, due schedules), so that no answer depends on how
// often [Queue.Advance] is called.
//
// Operations that change the queue return a [Change]: the records to keep. A
// caller that stores every Change in order can rebuild an equal Queue with
// [Load], and reads the bodies of messages from its own store: the Queue keeps
// none in memory. Locks are part of the records: they outlive a restart, as
// they outlive a link.
//
// All operations cost O(log n) per message that they touch.
//
// The rules follow Microsoft Learn, "Message transfers, locks, and settlement",
// "Message sequencing and timestamps", "Message expiration (Time to Live)",
// "Message deferral", "Duplicate detection" and "Service Bus dead-letter
// queues".
//
// Not emulated: sessions, partitioned entities, forwarding, topics and
// subscriptions, transactions, the 'transfer' dead-letter sub-queue, and the
// service's habit of expiring messages only while somebody receives.
package queue
