// Package workflowtest is what tests of a workflow need: a clock to set, an
// in-memory Store and Queue whose effects can be made to fail, a business of
// three steps, and the conformance suite for implementations of Store.
//
// Not emulated: the expiry of documents (TTL), lock renewal, the size limits of
// the services.
package workflowtest
