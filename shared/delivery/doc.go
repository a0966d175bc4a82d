// Package delivery is the business of this system: what a client may ask for, the
// steps that a request takes, and the services behind them, in the folders below.
// Nothing else but package chosen names it: an adopter puts a folder of its own in
// its place.
//
// Reading order: business.go (the whole), request.go (the request), change.go (a
// reschedule), steps.go (the definition of the workflow), calls.go (its calls),
// backends.go (what answers them), views.go, settings.go.
package delivery
