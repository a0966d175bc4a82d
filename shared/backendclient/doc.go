// Package backendclient makes the calls of a workflow's steps over HTTP: one
// attempt for each, and a verdict on it. It never repeats a call that may have
// had an effect: the workflow decides that. A Guard before the Client limits
// the calls to each backend, and breaks the circuit to a backend that is down.
//
// Reading order: client.go (the call), classify.go (the verdict), guard.go (the limits for each backend).
package backendclient
