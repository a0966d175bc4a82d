// Package ingest accepts requests: it gives them their ids, recognizes repeats,
// and answers when the event that carries a request is acknowledged by the hub.
//
// Reading order: accept.go (new transactions), change.go (reschedule and
// cancel), request.go (what is kept of a request that has to be recognized),
// known.go (which ids were accepted), writer.go and lane.go (the group commit),
// errors.go (what is refused).
package ingest
