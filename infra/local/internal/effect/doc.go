// Package effect kills a handler when one of its effects arrives: before the
// effect is done, or after it and before its answer. So a handler dies at every
// place between two effects, without hooks in its code.
//
// An effect is a write of an item, a transfer to a queue or a hub, a call of a
// function, a notice. The emulator that serves the effect asks its [Watch],
// with the names of the effect and the client: handlers say who they are
// ([telemetry.Process], by the user agent of all their clients). Effects of
// hosts, other clients and the checker do not count.
//
// A plan says at which effects handlers die. The plan is a file, so that all
// processes of a run share it from the start, and so that the driver can write
// a new one at any time. A second file, which outlives the runtime, notes the
// deaths. The effect of a killed handler is held, undone or unanswered, until
// the handler's process is gone and the effect's connection has ended. If the
// connection stays, another process was killed, and the file says so.
//
// Each transfer on the wire is an effect, a batch is one effect, and each
// repeat of an SDK is another. An effect that changed nothing, such as a
// repeated message that duplicate detection drops, has no point after it.
//
// Reading order: effect.go (names), plan.go (the files), watch.go (the
// decision), death.go (the kill).
package effect
