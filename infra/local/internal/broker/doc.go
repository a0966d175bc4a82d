// Package broker joins the rules of Service Bus queues (package queue) and of
// Event Hubs (package eventlog) to AMQP: it is the [amqp.Service] behind the
// emulators, on one port for both services.
//
// It knows the addresses
//
//	QUEUE                                   send, receive
//	QUEUE/$DeadLetterQueue                  receive
//	HUB, HUB/Partitions/ID                  send
//	HUB/ConsumerGroups/GROUP/Partitions/ID  receive
//	any of them + /$management, $management requests
//
// and compares them, like all names, without regard to case. Tokens are shared
// access signatures of the one key in Config; a client without support for
// tokens signs in with the key itself, by SASL PLAIN.
//
// Every change is committed to the store before a peer hears of it, by an
// outcome, a response or a delivery. There is one lock per queue and one per
// partition; none is held while a callback of the store, a Send or another
// entity runs.
//
// A receiver in mode ReceiveAndDelete gets its messages by a lock that is
// completed once the link has the delivery, so that a link that ends in between
// loses nothing.
//
// With Config.Faults links are detached, sends refused or their answers lost,
// locks lost, completions lost, and messages reordered: what the services do
// now and then, and what clients must take neither for a loss nor for a
// success. Acknowledged data survives all faults. Dead-letter sub-queues are
// not spared. See faults.go. Senders can be killed at their transfers:
// mortal.go.
//
// Not emulated, and refused with the service's own error: sessions; topics,
// subscriptions, rules and forwarding; transactions and the transfer
// dead-letter sub-queue; message selectors and browsers of JMS (peeking is
// there); Microsoft Entra ID tokens (only shared access signatures are
// accepted) and separate send, listen and manage claims; the administration
// interface (ATOM over HTTP) but for reading a queue (administer.go); entity names with a slash; Event Hubs idempotent
// producers (amqp:not-implemented) and geo-replication; maps with keys of
// binary, list or map (amqp:decode-error), since clients in Go can't read them
// and end their connection. Not emulated, without an error: links stay open
// when a token runs out or when they are idle, and throughput is not throttled.
package broker
