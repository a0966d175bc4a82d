// Package list is the list of the mutants. A change in the source that moves a
// mutant's place also mends the mutant here; the test names it.
package list

import (
	"slices"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

// All returns all mutants, those of one package together.
func All() []mutant.Mutant {
	return slices.Concat(workflows, engines, ahead, ingestion, shards, operators, relays, backends, adapters, handlers, runtimes, stores, checkers, blinded(), orders)
}

// in names the packages with the tests.
func in(packages ...string) []string { return packages }

// late are the flags of a run in which calls come late, and gaps are left on a hub that
// was recreated.
func late() []string { return faults("host.stopinretry=20,backend.late=0.25,eventhubs.recreated=20") }

// sharded are the flags of a run with several shards.
func sharded() []string { return []string{"-shards", "3", "-requests", "300", "-duration", "20s"} }

// faults are the flags of a run of chaos with more of some faults than by default.
func faults(more string) []string {
	return []string{"-faults", "all,handler.kill=30,host.stop=6,host.stopinretry=6,host.ownership=10,backend.undorefused=0.1," + more}
}
