// Package effect kills a handler when one of its effects arrives: before the
// effect is done, or after it and before it is answered. So a handler dies at
// every place between two effects, and knows nothing of it.
//
// An effect is a write of an item, a transfer to a queue or a hub, a call of a
// function, a notice. What serves it asks its [Watch], with the name of the
// effect and of the client: handlers say who they are ([telemetry.Process], by
// the user agent of all their clients), and nobody else counts: neither the
// hosts, nor other clients, nor who checks the result.
//
// Which effects of a handler are its last, a plan says: a file, so that all
// processes of a run go by the same one, from their first moment on, and so that
// whoever watches can write another at any time. Deaths are noted in a second
// file, which outlives the runtime. A handler that is to die is killed, and the
// effect is held, undone or unanswered, until the handler's process is gone and
// the connection on which the effect came has ended. A connection that stays
// belongs to a process that has not been killed: then another one was, and the
// file says so.
//
// Each transfer on the wire is an effect, a batch is one, and what an SDK repeats
// is one each time. An effect that changed nothing, such as a repeated message
// that duplicate detection drops, is not asked for behind it.
//
// Reading order: effect.go (names), plan.go (the files), watch.go (the
// decision), death.go (the kill).
package effect
