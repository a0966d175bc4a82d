// Package workflowtest serves tests of a workflow: a settable clock, an
// in-memory Store whose effects can fail on demand, a business of three steps,
// and the conformance suite for implementations of Store.
//
// Not emulated: the expiry of documents (TTL), the size limits of the service.
package workflowtest
