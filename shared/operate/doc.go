// Package operate is what operators do: look at the transactions that are open
// or Stuck, retry or give up what is Stuck, and decide about what is in
// quarantine.
//
// Each act says who and why, and is on record before it takes effect: in the
// transaction's history, or in the quarantine's entry. A wake is saved before it
// is sent, so that Sweep finds it if it never is. Repeating an act whose answer
// was lost is harmless.
//
// Reading order: service.go (what it stands on), actor.go, transactions.go (the
// list, retry, give up), story.go with remaining.go and expect.go (all that is
// known of one transaction), entries.go and redrive.go (the quarantine),
// update.go (how an act is saved).
package operate
