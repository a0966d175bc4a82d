// Package workflow decides what happens to a transaction. It is pure: it does
// no I/O, reads no clock and knows no step by name.
//
// Reading order: definition.go (the parts of a transaction), progress.go (its
// stored document), state.go and transition.go (its states), outcome.go (the
// verdict on a call), decide.go (what to do next), undo.go, operation.go
// (cancel and reschedule), owner.go (whose they are), outside.go (operations
// that the document doesn't hold), redo.go (steps to repeat after a change),
// backoff.go, store.go.
package workflow
