// Package delivery is the business of this system: what a client may ask for,
// and the steps that a request takes. Together with the backends it is what an
// adopter replaces; nothing else knows a step or a field of a request by name.
// It is pure.
//
// Reading order: request.go (the request), change.go (a reschedule), steps.go
// (the definition of the workflow), calls.go (its calls).
package delivery
