package operate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func (w *world) story() operate.Story {
	w.t.Helper()
	s, err := w.operate.Story(w.t.Context(), "t")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// Ensure that a Stuck transaction says what is left where, why, and what can be
// done.
func TestStoryOfAStuckTransaction(t *testing.T) {
	w := newWorld(t)
	stuck := w.stuck()
	e := w.keep([]byte(`{"transactionId":"t"}`))
	e.Body, e.Properties = "", nil
	want := operate.Story{
		Transaction: stuck,
		Remaining: []operate.Remaining{{
			Step: "hotel", Effect: workflow.EffectYes, Backend: "hotel", Method: "DELETE", Path: "hotels/t",
			OperationID: "op-2", Revision: 1, Attempts: 1, Error: stuck.Step("hotel").UndoError,
		}},
		Next: []operate.Expectation{{What: "nothing by itself: it waits for an operator"}},
		Acts: []string{"retry", "giveup"}, Quarantine: []quarantine.Entry{e}, Timeline: operate.Timeline(stuck, []quarantine.Entry{e}),
	}
	if diff := cmp.Diff(want, w.story()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stuck.Step("hotel").UndoError.Message != "no way back" || !strings.Contains(stuck.Reason, "undo of hotel refused: no way back") {
		t.Errorf("reason %q, error %+v", stuck.Reason, stuck.Step("hotel").UndoError)
	}
}

func TestStoryTellsWhatIsLeftInOrder(t *testing.T) {
	step := func(name string, state workflow.StepState, effect workflow.Effect) workflow.StepProgress {
		return workflow.StepProgress{Name: name, State: state, Effect: effect}
	}
	steps := []workflow.StepProgress{
		step("hotel", workflow.StepSucceeded, workflow.EffectYes), step("flight", workflow.StepUndone, workflow.EffectYes),
		step("payment", workflow.StepUndoing, workflow.EffectNo), step("unknown", workflow.StepSucceeded, workflow.EffectMaybe),
	}
	for state, want := range map[workflow.State]string{
		workflow.Stuck:        "unknown maybe  ; payment maybe DELETE payments/t; hotel yes DELETE hotels/t",
		workflow.Compensating: "unknown maybe  ; payment maybe DELETE payments/t; hotel yes DELETE hotels/t",
		workflow.GivenUp:      "unknown maybe  ; payment maybe DELETE payments/t; hotel yes DELETE hotels/t",
		workflow.Completed:    "", workflow.Running: "", workflow.Rejected: "", workflow.Cancelled: "",
	} {
		w := newWorld(t)
		p := &workflow.Progress{ID: "t", State: state, Request: workflowtest.TripBody(), Steps: steps}
		if _, err := w.Store.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range w.story().Remaining {
			left = append(left, fmt.Sprintf("%s %s %s %s", r.Step, r.Effect, r.Method, r.Path))
		}
		if got := strings.Join(left, "; "); got != want {
			t.Errorf("%s: left %q, want %q", state, got, want)
		}
	}
}

func TestStoryTellsWhatComes(t *testing.T) {
	now := workflowtest.Start
	at := func(d time.Duration) workflow.Instant { return workflow.At(now.Add(d)) }
	for name, c := range map[string]struct {
		p    workflow.Progress
		want []string // offset and text
	}{
		"waiting for a wake": {
			workflow.Progress{
				State: workflow.Running, Wake: 4, WakeAt: at(time.Minute), WakeQueue: workflow.QueueTransactions, CompleteBy: at(time.Hour),
				Steps: []workflow.StepProgress{{Name: "hotel", State: workflow.StepPending, NotBefore: at(30 * time.Second)}, {Name: "flight", State: workflow.StepPending}},
			},
			[]string{"30s step hotel is retried", "1m0s wake t/transactions/4 continues it", "1h0m0s its time limit: if not completed by then, it is undone"},
		},
		"at work": {
			workflow.Progress{
				State: workflow.Compensating, Wake: 4, WakeAt: at(time.Minute), WakeQueue: workflow.QueueCompensations, CompleteBy: at(-time.Hour),
				Lease: workflow.Lease{Runner: "r-1", Until: at(30 * time.Second)},
				Steps: []workflow.StepProgress{{Name: "hotel", State: workflow.StepUndoing}, {Name: "flight", State: workflow.StepUndoing, NotBefore: at(time.Hour)}},
			},
			[]string{"30s until then runner r-1 holds it; steps in flight: hotel", "1m0s wake t/compensations/4 takes it over if that runner is gone",
				"1h0m0s the undo of step flight is retried"},
		},
		"overdue": {
			workflow.Progress{State: workflow.Accepted, Wake: 1, WakeAt: at(-time.Hour), WakeQueue: workflow.QueueTransactions},
			[]string{"-1h0m0s wake t/transactions/1 is overdue and unanswered: Sweep sends another"},
		},
		"completed": {
			workflow.Progress{
				State: workflow.Completed, Request: workflowtest.TripBody(), EndedAt: at(0), TTL: 3600 * 72,
				Outbox: workflow.Outbox{Notices: []workflow.Notice{{Number: 1}}, At: at(time.Second)},
			},
			[]string{"1s 1 notices of its rest are to be delivered", "48h0m0s until then its client can cancel or reschedule it", "72h0m0s its document expires"},
		},
		"completed, and expiring before it is too late": {
			workflow.Progress{State: workflow.Completed, Request: workflowtest.TripBody(), EndedAt: at(0), TTL: 3600},
			[]string{"1h0m0s until then its client can cancel or reschedule it", "1h0m0s its document expires"},
		},
		"too late to be changed": {
			workflow.Progress{State: workflow.Completed, EndedAt: at(-time.Hour), TTL: 7200},
			[]string{"1h0m0s its document expires"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := c.p
			p.ID = "t"
			if _, err := w.Store.Create(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
			s := w.story()
			var got []string
			for _, e := range s.Next {
				got = append(got, e.At.Sub(now).String()+" "+e.What)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || len(s.Acts) > 0 != (p.WakeAt != workflow.Instant{} && p.Lease.Runner == "") || s.Overdue != (name == "overdue") {
				t.Errorf("acts %v, overdue %v, next (-want +got):\n%s", s.Acts, s.Overdue, diff)
			}
		})
	}
}

func TestStoryBoundsItsEntries(t *testing.T) {
	for n, more := range map[int64]bool{99: false, 100: false, 101: true, 250: true} {
		w := newWorld(t)
		w.entries.PageSize = 40
		if _, err := w.Store.Create(t.Context(), &workflow.Progress{ID: "t", State: workflow.Completed}); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			e := quarantine.Entry{Source: "q", SequenceNumber: i, TransactionID: "t"}
			e.ID = quarantine.EntryID(e)
			if err := w.entries.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if s := w.story(); s.MoreInQuarantine != more || len(s.Quarantine) != int(min(n, 100)) {
			t.Errorf("of %d entries %d are told, more: %v", n, len(s.Quarantine), s.MoreInQuarantine)
		}
	}
}

func TestStoryOfNothing(t *testing.T) {
	w := newWorld(t)
	if _, err := w.operate.Story(t.Context(), "t"); !failure.Is(err, failure.NotFound) {
		t.Errorf("%v, want not found", err)
	}
	w.stuck()
	w.at("page of entries", 1, workflowtest.Refuse)
	if _, err := w.operate.Story(t.Context(), "t"); failure.KindOf(err) != failure.Transient || err == nil {
		t.Errorf("%v, want a transient failure", err)
	}
}

// Ensure that what the story says is left, is what a retry undoes.
func TestRemainingIsWhatARetryUndoes(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	left := w.story().Remaining
	w.refused = false
	var made []string
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		made = append(made, fmt.Sprintln(req.Call.Backend, req.Call.Method, req.Call.Path, req.OperationID, req.Revision))
		return nil
	}
	if _, err := w.operate.Retry(t.Context(), "t", ada); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	var want []string
	for _, r := range left {
		want = append(want, fmt.Sprintln(r.Backend, r.Method, r.Path, r.OperationID, r.Revision))
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("calls (-told +made):\n%s\n%s", diff, enginetest.Describe(w.Store.Get("t")))
	}
}
