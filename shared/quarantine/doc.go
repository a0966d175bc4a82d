// Package quarantine keeps what can't be processed where operators find it:
// events and messages that are unreadable, and messages that Service Bus
// dead-lettered. Nothing is dropped, and nothing waits in a dead-letter
// sub-queue.
//
// An entry's id is its source and its sequence number there, so that keeping
// one thing twice leaves one entry. Operators decide about it; what they did is
// recorded in it (act.go), and nobody else changes or deletes it before it
// expires.
package quarantine
