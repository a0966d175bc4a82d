package enginetest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// arrival is a moment in the life of a transaction at which operations arrive.
// Its function takes the transaction there, calls arrive once, and lets
// everything settle.
type arrival struct {
	name string
	live func(w *enginetest.World, arrive func())
	// ends is the state that is not changed any more; "" while operations are
	// still taken up.
	ends workflow.State
}

func deliverTrip(w *enginetest.World) {
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
}

// within calls arrive during the first call of that kind, and lets another
// process work on what has arrived.
func within(w *enginetest.World, call string, slow time.Duration, arrive func()) {
	var arrived atomic.Bool // the calls of a stage are made side by side
	before := w.Backends.OnCall
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Method+" "+req.Call.Path == call && arrived.CompareAndSwap(false, true) {
			w.Clock.Advance(slow)
			arrive()
			for range 3 {
				w.Step()
			}
		}
		if before != nil {
			return before(req)
		}
		return nil
	}
}

// refusing has the last step refused, so that the others are undone.
func refusing(w *enginetest.World) {
	refuse(w, "PUT payments/t", 402)
	deliverTrip(w)
}

// stuck leaves a transaction that can't be undone.
func stuck(w *enginetest.World) {
	refuse(w, "DELETE hotels/t", 403)
	refusing(w)
	w.Settle()
}

var arrivals = []arrival{
	{"before the delivery", func(w *enginetest.World, arrive func()) {
		arrive()
		for w.Step() {
		}
		deliverTrip(w)
		w.Settle()
	}, ""},
	{"together with the delivery", func(w *enginetest.World, arrive func()) {
		deliverTrip(w)
		arrive()
		w.Settle()
	}, ""},
	{"during a step", func(w *enginetest.World, arrive func()) {
		within(w, "PUT flights/t", 0, arrive)
		deliverTrip(w)
		w.Settle()
	}, ""},
	{"during the last step", func(w *enginetest.World, arrive func()) {
		within(w, "PUT payments/t", 0, arrive)
		deliverTrip(w)
		w.Settle()
	}, ""},
	{"with a lost lease", func(w *enginetest.World, arrive func()) {
		within(w, "PUT flights/t", 70*time.Second, arrive)
		deliverTrip(w)
		w.Settle()
	}, ""},
	{"while a step waits", func(w *enginetest.World, arrive func()) {
		busy := true
		w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
			if busy && req.Call.Path == "payments/t" && !req.Undo {
				return new(enginetest.Busy(time.Minute))
			}
			return nil
		}
		deliverTrip(w)
		for w.Step() {
		}
		busy = false
		arrive()
		w.Settle()
	}, ""},
	{"after completion", func(w *enginetest.World, arrive func()) {
		deliverTrip(w)
		w.Settle()
		arrive()
		w.Settle()
	}, ""},
	{"after the departure", func(w *enginetest.World, arrive func()) {
		deliverTrip(w)
		w.Settle()
		w.Clock.Advance(49 * time.Hour)
		arrive()
		w.Settle()
	}, workflow.Completed},
	{"while it is undone", func(w *enginetest.World, arrive func()) {
		within(w, "DELETE flights/t", 0, arrive)
		refusing(w)
		w.Settle()
	}, workflow.Compensated},
	{"when Rejected", func(w *enginetest.World, arrive func()) {
		refuse(w, "PUT hotels/t", 404)
		refuse(w, "PUT flights/t", 404)
		deliverTrip(w)
		w.Settle()
		arrive()
		w.Settle()
	}, workflow.Rejected},
	{"when Compensated", func(w *enginetest.World, arrive func()) {
		refusing(w)
		w.Settle()
		arrive()
		w.Settle()
	}, workflow.Compensated},
	{"when Cancelled", func(w *enginetest.World, arrive func()) {
		deliverTrip(w)
		w.Post(workflow.OperationCancel, "t", "op-1a", nil)
		w.Settle()
		arrive()
		w.Settle()
	}, workflow.Cancelled},
	{"when Stuck", func(w *enginetest.World, arrive func()) {
		stuck(w)
		arrive()
		w.Settle()
	}, workflow.Stuck},
	{"when GivenUp", func(w *enginetest.World, arrive func()) {
		stuck(w)
		if err := w.Store.Change("t", func(p *workflow.Progress) {
			if err := p.GiveUp("ada", "by hand", w.Clock.Now(), w.Engine.Budgets.Limits()); err != nil {
				w.T.Errorf("give up: %v", err)
			}
		}); err != nil {
			w.T.Fatalf("give up: %v", err)
		}
		arrive()
		w.Settle()
	}, workflow.GivenUp},
}

// script is what arrives, in this order, and what is to become of it where
// operations are still taken up. op-2 is older than op-3.
type script struct {
	name  string
	ops   []workflow.Operation
	final workflow.State
	ends  map[string][]workflow.OperationState // by OperationID; any of them
	night int                                  // of the completed trip; 0 if it may be either
}

const (
	applied    = workflow.OperationApplied
	refused    = workflow.OperationRefused
	superseded = workflow.OperationSuperseded
)

func cancelOp(id string) workflow.Operation {
	return workflow.Operation{ID: id, Kind: workflow.OperationCancel}
}

func moveOp(id string, nights int) workflow.Operation {
	return workflow.Operation{ID: id, Kind: workflow.OperationReschedule, Body: fmt.Appendf(nil, `{"nights":%d}`, nights)}
}

type ends = map[string][]workflow.OperationState

var scripts = []script{
	{"cancel", []workflow.Operation{cancelOp("op-2")}, workflow.Cancelled, ends{"op-2": {applied}}, 0},
	{"cancel twice", []workflow.Operation{cancelOp("op-2"), cancelOp("op-3")}, workflow.Cancelled,
		ends{"op-2": {applied}, "op-3": {applied, refused}}, 0},
	{"the same cancel twice", []workflow.Operation{cancelOp("op-2"), cancelOp("op-2")}, workflow.Cancelled, ends{"op-2": {applied}}, 0},
	{"reschedule", []workflow.Operation{moveOp("op-2", 5)}, workflow.Completed, ends{"op-2": {applied}}, 5},
	{"reschedule twice", []workflow.Operation{moveOp("op-2", 5), moveOp("op-3", 6)}, workflow.Completed,
		ends{"op-2": {applied, superseded}, "op-3": {applied}}, 6},
	{"reschedule twice, the newer first", []workflow.Operation{moveOp("op-3", 6), moveOp("op-2", 5)}, workflow.Completed,
		ends{"op-2": {applied, superseded}, "op-3": {applied}}, 6},
	{"a reschedule that is refused", []workflow.Operation{moveOp("op-2", 0)}, workflow.Completed, ends{"op-2": {refused}}, 3},
	{"cancel, then reschedule", []workflow.Operation{cancelOp("op-2"), moveOp("op-3", 5)}, workflow.Cancelled,
		ends{"op-2": {applied}, "op-3": {refused, superseded}}, 0},
	{"reschedule, then cancel", []workflow.Operation{moveOp("op-2", 5), cancelOp("op-3")}, workflow.Cancelled,
		ends{"op-2": {applied, superseded}, "op-3": {applied}}, 0},
	{"the older reschedule behind the cancel", []workflow.Operation{cancelOp("op-3"), moveOp("op-2", 5)}, workflow.Cancelled,
		ends{"op-2": {refused, superseded}, "op-3": {applied}}, 0},
}

// TestOperationsInEveryStateAndOrder has every script arrive at every moment.
func TestOperationsInEveryStateAndOrder(t *testing.T) {
	for _, a := range arrivals {
		for _, s := range scripts {
			t.Run(a.name+"/"+s.name, func(t *testing.T) {
				w := enginetest.New(t, workflowtest.Trip(), 1, nil)
				a.live(w, func() {
					for _, op := range s.ops {
						w.Post(op.Kind, "t", op.ID, op.Body)
					}
				})
				judge(t, w, a, s)
			})
		}
	}
}

func judge(t *testing.T, w *enginetest.World, a arrival, s script) {
	p := w.Store.Get("t")
	want := s.final
	if a.ends != "" {
		want = a.ends
	}
	if p == nil || p.State != want {
		t.Fatalf("ended %s, want %s:\n%s", p.State, want, enginetest.Describe(p))
	}
	for id, allowed := range s.ends {
		if a.ends != "" {
			allowed = []workflow.OperationState{refused}
		}
		op := p.Operation(id)
		if op == nil || !slices.Contains(allowed, op.State) {
			t.Errorf("%s is %+v, want one of %v", id, op, allowed)
			continue
		}
		if op.State != applied && op.Reason == "" {
			t.Errorf("%s is %s without a reason", id, op.State)
		}
	}
	if night := fmt.Sprintf(`"nights":%d`, s.night); a.ends == "" && s.night > 0 && !strings.Contains(string(p.Request), night) {
		t.Errorf("the request is %s, want %s", p.Request, night)
	}
	switch want {
	case workflow.Stuck, workflow.GivenUp: // what could not be undone is there
	default:
		check(t, w, want)
	}
}
