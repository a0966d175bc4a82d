// Package fault decides where the runtime breaks something on purpose.
//
// A part of the runtime that can break asks its Injector at the place of the
// break, the point: "does this one break?". The plan says how often the answer
// is yes. The nth answer at a point depends only on the seed, the point and n,
// so that a plan and a seed give the same faults however the goroutines run, if
// they reach the same places.
//
// A fault that is not part of other work, such as killing the handler, is an
// act: the plan gives the intervals, and the system acts.
//
// Besides rates a plan has bursts: for a time a point is hit more often, or
// always, so that the faults outlast the repeats that heal single ones. A
// lasting act, such as freezing a handler, is a burst, too.
//
// A nil Injector never hits; an Injector without a plan costs the load of one
// pointer.
//
// Reading order: points.go (what can be broken), plan.go (how often), burst.go
// (how often for a time), injector.go and roll.go (the decisions), instances.go
// (more than one process), parse.go (the command line's form), admin.go (over
// HTTP).
package fault
