// Package backendclient makes the calls of a workflow's steps over HTTP: one
// attempt for each, and a verdict on it. It never repeats a call that may have
// had an effect; that is the workflow's business.
//
// Reading order: client.go (the call), classify.go (the verdict), retryafter.go,
// slots.go (the limit for each backend).
package backendclient
