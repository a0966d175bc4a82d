// Package fault decides where the runtime breaks something on purpose.
//
// A part of the runtime that can break asks its Injector at the place where it
// would, the point: "is this one to be hit?". The plan says how often the answer
// is yes. The nth answer at a point is a function of the seed, the point and n
// alone, so that a plan and a seed give the same faults however the goroutines
// run, as far as they come to the same places.
//
// What does not happen on the way of some other work, such as killing the
// handler, is an act: the plan says at what intervals it is done, and the system
// does it.
//
// Besides rates a plan has bursts: a point is hit more often, or always, from a
// moment on for a time, so that the faults outlast the repeats that make single
// ones good. An act that lasts, such as freezing a handler, is one as well.
//
// A nil Injector never hits anything, and one without a plan costs a load of
// one pointer.
//
// Reading order: points.go (what can be broken), plan.go (how often), burst.go
// (how often for a time), injector.go and roll.go (the decisions), instances.go
// (more than one process), parse.go (the command line's form), admin.go (over
// HTTP).
package fault
