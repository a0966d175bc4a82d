// Package bench compares the system with what its machine could do: in one run,
// in turns, each scenario is measured beside a baseline that does the least of the
// same. A time alone says nothing about another machine, a ratio does.
//
// A ratio is either of throughput, with all cores busy on both sides, or of the
// CPU time that all processes of the same scope take for one item. More is better
// with both. The machine's other work harms the first more than the second.
//
// Reading order: bench.go (a run), scenarios.go (what is compared), open.go (the
// scenarios that offer requests at a rate), process.go (what runs), effort.go (what
// is measured), compare.go with stopped.go and checkpoints.go (the ways to schedule, which
// are compared with each other), viewers.go and status.go with stored.go (those who ask
// how things stand), report.go and waysreport.go (what people see).
package bench
