// Package operate is what operators do: look at open and Stuck transactions,
// retry Stuck ones or give them up, and decide about the quarantine.
//
// Each act says who and why, and is recorded before it takes effect: in the
// transaction's history, or in the quarantine's entry. A wake is saved before
// it is sent, so that Sweep finds an unsent wake. Repeating an act after a lost
// answer is harmless.
//
// Reading order: service.go (what it uses), actor.go, transactions.go (the
// list, retry, give up), story.go with remaining.go and expect.go (everything
// about one transaction), entries.go with redrive.go (the quarantine), http.go.
package operate
