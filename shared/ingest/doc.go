// Package ingest accepts requests: it gives them their ids, recognizes repeats,
// and answers when the hub has acknowledged the request's event.
//
// Reading order: accept.go (new transactions), change.go (reschedule and
// cancel), request.go (what is kept to recognize a request), known.go (which were
// accepted), writer.go and lane.go (the group commit), errors.go (what
// is refused).
package ingest
