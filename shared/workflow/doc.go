// Package workflow decides what becomes of a transaction. It is pure: it does no
// I/O, reads no clock and knows no step by name.
//
// Reading order: definition.go (what a transaction is made of), progress.go
// (what is stored of one), state.go and transition.go (its states), outcome.go
// (the verdict on a call), decide.go (what is to be done next), undo.go,
// operation.go (cancel and reschedule), owner.go (whose they are), outside.go
// (those that the document doesn't hold), redo.go (what a change makes others do
// again), backoff.go, store.go.
package workflow
