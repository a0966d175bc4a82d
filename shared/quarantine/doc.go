// Package quarantine keeps for operators what can't be processed: unreadable
// events and messages, and messages that Service Bus dead-lettered. Nothing is
// dropped, and nothing waits in a dead-letter sub-queue.
//
// An entry's id is its source and its sequence number there, so that keeping a
// message twice leaves one entry. Operators decide about an entry, and it
// records what they did (act.go). Nobody else changes or deletes it before it
// expires.
package quarantine
