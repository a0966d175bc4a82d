package invariant

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestPivotsMeanwhile(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	operation := func(kind workflow.OperationKind, accepted, ended time.Duration) workflow.OperationRecord {
		return workflow.OperationRecord{Kind: kind, AcceptedAt: workflow.At(at.Add(accepted)), EndedAt: workflow.At(at.Add(ended))}
	}
	for name, c := range map[string]struct {
		drone     string
		operation workflow.OperationRecord
		want      int
	}{
		"a cancel":               {"d", operation(workflow.OperationCancel, -time.Second, time.Second), 1},
		"a change":               {"d", operation(workflow.OperationReschedule, -time.Second, time.Second), 1},
		"the delivery itself":    {"d", operation(workflow.OperationStart, -time.Second, time.Second), 0},
		"ended before":           {"d", operation(workflow.OperationCancel, -2*time.Second, -time.Second), 0},
		"accepted after":         {"d", operation(workflow.OperationCancel, time.Second, 2*time.Second), 0},
		"a drone that is not it": {"", operation(workflow.OperationCancel, -time.Second, time.Second), 0},
	} {
		s := scene{
			Assignments: []record.Record[drone.Assignment]{{ID: "t", Content: drone.Assignment{
				Flight: drone.Flight{DroneID: c.drone, PickupAt: at}}}},
		}
		s.Transactions = []workflow.Progress{{ID: "t", Operations: []workflow.OperationRecord{c.operation, c.operation}}, {ID: "other"}}
		if got := theSubject.PivotsMeanwhile(new(s.snapshot())); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
