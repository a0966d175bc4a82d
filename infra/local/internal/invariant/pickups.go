package invariant

import (
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// PickupsMeanwhile counts the transactions whose pickup came while the client's
// cancel or change was on its way: it was accepted before, and has ended after.
// They are what the rules about flights are hardest for.
func (s *Snapshot) PickupsMeanwhile() int {
	due := map[string]time.Time{}
	for i := range s.Assignments {
		if r := &s.Assignments[i]; r.Content.DroneID != "" {
			due[r.ID] = r.Content.PickupAt
		}
	}
	n := 0
	for i := range s.Transactions {
		p := &s.Transactions[i]
		at, flies := due[p.ID]
		for _, o := range p.Operations {
			if flies && o.Kind != workflow.OperationDeliver && o.AcceptedAt.Before(at) && o.EndedAt.After(at) {
				n++
				break
			}
		}
	}
	return n
}
