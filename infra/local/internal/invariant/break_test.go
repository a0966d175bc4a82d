package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// breakage is a valid snapshot with one thing made wrong, and how a rule has to
// tell of it.
type breakage struct {
	rule, what, id string
	about          string // tells two with the same words apart
	do             func(s *scene)
}

func transaction(s *scene, id string) *workflow.Progress {
	return found(s.Transactions, func(p *workflow.Progress) bool { return p.ID == id })
}

func kept(s *scene, id string) *ingest.RequestRecord {
	return found(s.Requests, func(r *ingest.RequestRecord) bool { return r.ID == id })
}

func recordOf[T any](all []record.Record[T], id string) *record.Record[T] {
	return found(all, func(r *record.Record[T]) bool { return r.ID == id })
}

// droneOf returns the drone that is held for a transaction.
func droneOf(s *scene, transactionID string) *drone.Drone {
	return found(s.Drones, func(d *drone.Drone) bool { _, held := d.HoldOf(transactionID); return held })
}

func found[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	panic("it is not in the valid snapshot")
}

// drop returns all without the one.
func drop[T any](all []T, one *T) []T {
	for i := range all {
		if &all[i] == one {
			return slices.Delete(all, i, i+1)
		}
	}
	panic("it is not in the valid snapshot")
}

func progress(id string, change func(p *workflow.Progress)) func(*scene) {
	return func(s *scene) { change(transaction(s, id)) }
}

func step(id, name string, change func(*workflow.StepProgress)) func(*scene) {
	return progress(id, func(p *workflow.Progress) { change(p.Step(name)) })
}

func operation(id string, n int, change func(*workflow.OperationRecord)) func(*scene) {
	return progress(id, func(p *workflow.Progress) { change(&p.Operations[n]) })
}

func pack(id string, change func(*record.Record[parcel.Content])) func(*scene) {
	return func(s *scene) { change(recordOf(s.Packages, id)) }
}

func assignment(id string, change func(*record.Record[drone.Assignment])) func(*scene) {
	return func(s *scene) { change(recordOf(s.Assignments, id)) }
}

// breakages are of the transactions that valid makes.
var breakages = slices.Concat(ofClients, ofEffects, ofJournals, ofFlights, ofShards, ofRest)
