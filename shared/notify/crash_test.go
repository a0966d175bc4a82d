package notify_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// scenarios are whole lives of the transaction t.
var scenarios = map[string]func(w *world){
	"completed": func(w *world) {
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
	},
	"rejected": func(w *world) {
		refuse(w, "PUT hotels/t", "PUT flights/t")
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
	},
	"compensated": func(w *world) {
		refuse(w, "PUT payments/t")
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
	},
	"rescheduled, then cancelled": func(w *world) {
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
		w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
		w.Settle()
		w.Post(workflow.OperationCancel, "t", "op-3", nil)
		w.Settle()
	},
	"rescheduled before anybody was told": func(w *world) {
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Step()
		w.Post(workflow.OperationReschedule, "t", "op-2", []byte(`{"nights":5}`))
		w.Settle()
	},
	"stuck, then retried": func(w *world) {
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
		refuse(w, "DELETE hotels/t")
		w.Post(workflow.OperationCancel, "t", "op-2", nil)
		w.Settle()
		w.Backends.OnCall = nil
		retry(w)
		w.Settle()
	},
}

// retry is what an operator does, whose process does not die.
func retry(w *world) {
	w.T.Helper()
	err := w.Store.Change("t", func(p *workflow.Progress) {
		if err := p.RetryUndo("ada", "again", w.Clock.Now()); err != nil {
			w.T.Errorf("retry: %v", err)
		}
		p.RaiseWake(w.Clock.Now())
	})
	p := w.Store.Get("t")
	body, encodeErr := engine.Envelope{TransactionID: "t", Wake: p.Wake}.Encode()
	if err = errors.Join(err, encodeErr); err != nil {
		w.T.Fatalf("retry: %v", err)
	}
	w.Queue.Put(engine.Queued{Queue: "compensations-q", MessageID: engine.WakeID("t", "compensations", p.Wake), Body: body})
}

func refuse(w *world, calls ...string) {
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		for _, call := range calls {
			if req.Call.Method+" "+req.Call.Path == call {
				return new(enginetest.Refused(402, "no"))
			}
		}
		return nil
	}
}

// TestCrashAtEveryEffect lets the process die just before and just after each
// effect of each scenario, the posts included. Everything must be told all the
// same, in its order.
func TestCrashAtEveryEffect(t *testing.T) {
	for name, live := range scenarios {
		t.Run(name, func(t *testing.T) {
			clean := newWorld(t, 1)
			live(clean)
			clean.check()
			if told, all := len(clean.receiver.news("t")), len(clean.receiver.all()); told == 0 || told != all {
				t.Errorf("%d events for %d notices without any crash", all, told)
			}
			for _, effect := range clean.Gate.Effects() {
				for fate, when := range map[workflowtest.Fate]string{workflowtest.Refuse: "before", workflowtest.Lose: "after"} {
					t.Run(when+" "+strings.ReplaceAll(effect, "/", "_"), func(t *testing.T) {
						w := newWorld(t, 1)
						dieAt(w, effect, fate)
						live(w)
						w.check()
					})
				}
			}
		})
	}
}

// dieAt kills the process at the effect: nothing of what would follow in the
// same invocation takes place.
func dieAt(w *world, effect string, fate workflowtest.Fate) {
	var dead, died atomic.Bool
	w.Gate.Decide = func(name string, n int) workflowtest.Fate {
		if dead.Load() {
			return workflowtest.Refuse
		}
		if !died.Load() && fmt.Sprintf("%s #%d", name, n) == effect {
			dead.Store(true)
			died.Store(true)
			return fate
		}
		return workflowtest.Pass
	}
	w.Crashed = func() bool { return dead.Swap(false) }
}

// TestRandomFates tells of twenty transactions while every effect may fail,
// lose its answer or end the process, and messages come in any order.
func TestRandomFates(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			w.Shuffle = true
			var mu sync.Mutex
			dead := false
			w.Gate.Decide = func(effect string, n int) workflowtest.Fate {
				mu.Lock()
				defer mu.Unlock()
				h := fnv.New64a()
				fmt.Fprintf(h, "%d %s %d", seed, effect, n)
				r := h.Sum64() % 100
				switch {
				case dead:
					return workflowtest.Refuse
				case r < 5:
					return workflowtest.Refuse
				case r < 10:
					return workflowtest.Lose
				case r < 12:
					dead = true
					return workflowtest.Lose
				}
				return workflowtest.Pass
			}
			w.Crashed = func() bool {
				mu.Lock()
				defer mu.Unlock()
				was := dead
				dead = false
				return was
			}
			for i := range 20 {
				id := fmt.Sprint("t-", i)
				w.Post(workflow.OperationStart, id, "op-1-"+id, workflowtest.TripBody())
				w.Post(workflow.OperationReschedule, id, "op-2-"+id, []byte(`{"nights":5}`))
				if i%2 == 0 {
					w.Post(workflow.OperationCancel, id, "op-3-"+id, nil)
				}
			}
			w.Settle()
			w.check()
		})
	}
}
