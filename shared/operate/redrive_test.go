package operate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func (w *world) redrive(a operate.Actor) (operate.EntryActed, error) {
	e := w.entry()
	return w.operate.Redrive(w.t.Context(), e.Source, e.ID, a)
}

// mustRedrive redrives the entry and wants the result to say something.
func (w *world) mustRedrive(want string) operate.EntryActed {
	w.t.Helper()
	acted, err := w.redrive(ada)
	if err != nil || !strings.Contains(acted.Result, want) {
		w.t.Fatalf("%+v, %v; want %q in the result", acted, err, want)
	}
	return acted
}

// checkRedriven holds that the entry has one act, with its result.
func (w *world) checkRedriven() {
	w.t.Helper()
	e := w.entry()
	if e.State != quarantine.Redriven || len(e.Acts) != 1 || e.Acts[0].By != ada.By || e.Acts[0].Why != ada.Why || e.Acts[0].Result == "" {
		w.t.Errorf("entry %+v", e)
	}
}

// Ensure that an operation whose message was lost to its transaction is done.
func TestRedriveOfAnOperationThatIsNotOnRecord(t *testing.T) {
	w := newWorld(t)
	w.keepMessage(w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()))
	acted := w.mustRedrive("operation op-1 was put on record of transaction t and is Pending")
	if acted.Entry.Body != "" || acted.Entry.Properties != nil || acted.Repeated {
		t.Errorf("acted %+v", acted)
	}
	w.checkRedriven()
	if calls := w.Backends.Calls(); len(calls) > 0 {
		t.Errorf("the operator's request called %v", calls)
	}
	w.Settle()
	w.want(workflow.Completed)
}

func TestRedriveOfACancelOfWhatIsCompleted(t *testing.T) {
	w := newWorld(t)
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.want(workflow.Completed)
	w.keepMessage(w.Operation(workflow.OperationCancel, "t", "op-2", nil))
	w.mustRedrive("the transaction is Compensating")
	w.Settle()
	w.want(workflow.Cancelled)
}

// Ensure that an operation for which there is no room is on record as refused.
func TestRedriveOfAnOperationThatComesTooLate(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	w.keepMessage(w.Operation(workflow.OperationReschedule, "t", "op-9", json.RawMessage(`{"nights":4}`)))
	w.mustRedrive("op-9 was put on record of transaction t and is Refused; the transaction is Stuck")
	w.checkRedriven()
}

// running leaves transaction t waiting, with its delivery on record.
func (w *world) running() *workflow.Progress {
	w.t.Helper()
	w.Gate.Decide = func(name string, _ int) workflowtest.Fate {
		if strings.HasPrefix(name, "PUT ") {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Step()
	w.Gate.Decide = nil
	return w.want(workflow.Running)
}

func TestRedriveRaisesANewWake(t *testing.T) {
	for name, envelope := range map[string]func(*world, *workflow.Progress) engine.Envelope{
		"an operation on record": func(w *world, _ *workflow.Progress) engine.Envelope {
			return w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		},
		"a wake": func(_ *world, p *workflow.Progress) engine.Envelope {
			return engine.Envelope{TransactionID: "t", Wake: p.Wake}
		},
		"an old wake": func(*world, *workflow.Progress) engine.Envelope {
			return engine.Envelope{TransactionID: "t", Wake: 1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.running()
			w.keepMessage(envelope(w, before))
			w.mustRedrive(fmt.Sprintf("wake %d of transaction t was sent", before.Wake+1))
			p := w.want(workflow.Running)
			if p.Wake != before.Wake+1 || p.WakeAt != workflow.At(w.Clock.Now()) || p.Saves != before.Saves || !w.Queue.Has(engine.WakeID("t", "transactions", p.Wake)) {
				t.Errorf("wake %d after %d at %s, saves %d after %d", p.Wake, before.Wake, p.WakeAt, p.Saves, before.Saves)
			}
			w.checkRedriven()
			w.Settle()
			w.want(workflow.Completed)
		})
	}
}

// Ensure that a wake for a transaction that somebody works on comes when the
// lease has run out, not into the middle of the work.
func TestRedriveBesideALease(t *testing.T) {
	w := newWorld(t)
	w.running()
	until := w.Clock.Now().Add(time.Minute)
	if err := w.Store.Change("t", func(p *workflow.Progress) { p.Take("somebody", until, time.Second) }); err != nil {
		t.Fatal(err)
	}
	w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	w.mustRedrive("was sent")
	if p := w.want(workflow.Running); !p.WakeAt.After(until) || p.Lease.Runner != "somebody" {
		t.Errorf("wake at %s, lease %+v", p.WakeAt, p.Lease)
	}
}

// Ensure that a redrive into the work of a runner disturbs nothing: the runner
// keeps its lease and its results.
func TestRedriveIntoTheWorkOfARunner(t *testing.T) {
	w := newWorld(t)
	e := w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	redriven := 0
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if req.Call.Backend == "payment" && redriven == 0 {
			redriven++
			if _, err := w.operate.Redrive(t.Context(), e.Source, e.ID, ada); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Step()
	p := w.want(workflow.Completed)
	if p.Step("payment").Attempts != 1 || redriven != 1 {
		t.Errorf("redriven %d times, steps %+v", redriven, p.Steps)
	}
	w.Settle()
	if calls := w.Backends.Calls(); len(calls) != 3 {
		t.Errorf("calls %v", calls)
	}
}

func TestRedriveOfWhatRests(t *testing.T) {
	for _, state := range []workflow.State{workflow.Completed, workflow.Rejected, workflow.Stuck} {
		for _, e := range []engine.Envelope{
			{TransactionID: "t", Wake: 3},
			{TransactionID: "t", OperationID: "op-1", Operation: "start", AcceptedAt: workflowtest.Start, Body: workflowtest.TripBody()},
		} {
			t.Run(fmt.Sprintf("%s, wake %d", state, e.Wake), func(t *testing.T) {
				w := newWorld(t)
				p := workflowtest.FullProgress("t")
				p.State, p.WakeAt, p.Lease = state, workflow.Instant{}, workflow.Lease{}
				if _, err := w.Store.Create(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				w.keepMessage(e)
				told := w.mustRedrive("transaction t is " + string(state))
				if strings.Contains(told.Result, "retry it or give it up") != (state == workflow.Stuck) {
					t.Errorf("told %q", told.Result)
				}
				w.checkRedriven()
				if diff := cmp.Diff(p, w.Store.Get("t")); diff != "" || w.Queue.Sent() > 0 {
					t.Errorf("something was done (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func TestRedriveTwiceHasOneEffect(t *testing.T) {
	w := newWorld(t)
	w.running()
	w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	w.mustRedrive("was sent")
	before := w.want(workflow.Running)
	w.Clock.Advance(moment)
	acted, err := w.redrive(operate.Actor{By: "bob", Why: "to be sure"})
	if err != nil || !acted.Repeated || !strings.Contains(acted.Result, "redriven before") {
		t.Fatalf("%+v, %v", acted, err)
	}
	e := w.entry()
	if len(e.Acts) != 2 || e.Acts[1].By != "bob" || e.Acts[1].Result == "" || e.State != quarantine.Redriven {
		t.Errorf("entry %+v", e)
	}
	if diff := cmp.Diff(before, w.want(workflow.Running)); diff != "" {
		t.Errorf("the second had an effect (-before +after):\n%s", diff)
	}
}

func TestRedriveIsRefused(t *testing.T) {
	old := engine.Envelope{TransactionID: "t", OperationID: "op-1", Operation: "start", Body: workflowtest.TripBody(),
		AcceptedAt: workflowtest.Start.Add(-31 * 24 * time.Hour)}
	encoded, err := old.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body, why string
		recorded  bool // the act was begun before it turned out
	}{
		"not JSON":            {"rubbish", "malformed", false},
		"binary":              {"\xff\x00", "malformed", false},
		"nothing":             {"", "malformed", false},
		"another envelope":    {`{"schema":1,"transactionId":"t","operation":"explode","operationId":"o"}`, "explode", false},
		"a newer schema":      {`{"schema":99,"transactionId":"t"}`, "newer version", false},
		"a wake of nobody":    {`{"schema":1,"transactionId":"t","wake":3}`, "nothing is known of transaction t", true},
		"an operation of old": {string(encoded), "older than documents are kept", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.keep([]byte(c.body))
			var refused *operate.RefusedError
			if _, err := w.redrive(ada); !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.why) || refused.State != "Kept" {
				t.Fatalf("%v, want %q", err, c.why)
			}
			after := w.entry()
			if c.recorded {
				if len(after.Acts) != 1 || !strings.HasPrefix(after.Acts[0].Result, "refused: ") {
					t.Errorf("acts %+v", after.Acts)
				}
				after.Acts = nil
			}
			if diff := cmp.Diff(before, after); diff != "" || len(w.Store.All()) > 0 || w.Queue.Sent() > 0 {
				t.Errorf("something was done (-before +after):\n%s", diff)
			}
		})
	}
}

// Ensure that a redrive ends an operation for which there is no room: it is on
// record outside, and its client finds it.
func TestRedriveForAFullTransaction(t *testing.T) {
	w := newWorld(t)
	w.running()
	err := w.Store.Change("t", func(p *workflow.Progress) {
		for n := range workflow.MaxOperations {
			p.Receive(workflow.Operation{ID: fmt.Sprintf("more-%03d", n), Kind: workflow.OperationCancel, AcceptedAt: w.Clock.Now()})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.keepMessage(w.Operation(workflow.OperationCancel, "t", "op-9", nil))
	acted, err := w.redrive(ada)
	if err != nil || !strings.Contains(acted.Result, "op-9 was refused") || !strings.Contains(acted.Result, "at most 50") {
		t.Errorf("got %+v, %v", acted, err)
	}
	if o := w.Outside.Get("op-9"); o == nil || o.State != workflow.OperationRefused {
		t.Errorf("outside: %+v", o)
	}
	if e := w.entry(); e.State != quarantine.Redriven {
		t.Errorf("entry %+v", e)
	}
}

func TestRedriveOfWhatWasDroppedIsRefused(t *testing.T) {
	w := newWorld(t)
	w.running()
	w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	e := w.entry()
	if _, err := w.operate.Drop(t.Context(), e.Source, e.ID, ada); err != nil {
		t.Fatal(err)
	}
	sent := w.Queue.Sent()
	var refused *operate.RefusedError
	if _, err := w.redrive(ada); !errors.As(err, &refused) || refused.State != "Dropped" || w.Queue.Sent() != sent {
		t.Errorf("got %v, sent %d", err, w.Queue.Sent()-sent)
	}
}

// Ensure that a redrive that fails at any of its effects, whether they take
// place or not, is repeated without harm, and that the record of the act comes
// before the effect.
func TestRedriveSurvivesLostAnswers(t *testing.T) {
	const id = "transactions.deadletter.1"
	operation := func(w *world) engine.Envelope {
		return w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	}
	wake := func(w *world) engine.Envelope {
		w.running()
		return engine.Envelope{TransactionID: "t", Wake: 1}
	}
	for _, c := range []struct {
		effect   string
		nth      int
		envelope func(*world) engine.Envelope
	}{
		{"read entry " + id, 1, operation}, {"replace entry " + id, 1, operation}, {"create t", 1, operation},
		{"send t/transactions/1", 1, operation}, {"replace entry " + id, 2, operation}, {"read t", 2, operation},
		{"replace t", 1, wake}, {"replace entry " + id, 2, wake}, {"send t/transactions/3", 1, wake},
	} {
		for _, fate := range []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose} {
			t.Run(fmt.Sprintf("%s %d, fate %d", c.effect, c.nth, fate), func(t *testing.T) {
				w := newWorld(t)
				w.keepMessage(c.envelope(w))
				struck := w.at(c.effect, c.nth, fate)
				_, err := w.redrive(ada)
				if p := w.Store.Get("t"); err == nil && c.effect == "replace t" && p.Wake != 3 {
					t.Errorf("wake %d, want one more than 2", p.Wake)
				}
				if err != nil {
					if e := w.entry(); e.State != quarantine.Kept {
						t.Errorf("a redrive that failed left %+v", e)
					}
					if w.Queue.Sent() > 0 && len(w.entry().Acts) == 0 {
						t.Error("something was done without a record")
					}
					w.Clock.Advance(moment)
					if _, err := w.redrive(ada); err != nil {
						t.Fatal(err)
					}
				}
				if !*struck {
					t.Error("there was no such effect")
				}
				w.Gate.Decide = nil
				w.Settle()
				p := w.want(workflow.Completed)
				if len(p.Operations) != 1 {
					t.Errorf("operations %+v", p.Operations)
				}
				if e := w.entry(); e.State != quarantine.Redriven || len(e.Acts) > 2 {
					t.Errorf("entry %+v", e)
				}
				for _, path := range []string{"hotels/t", "flights/t", "payments/t"} {
					if n := w.Backends.Created(path); n != 1 {
						t.Errorf("%s was created %d times", path, n)
					}
				}
			})
		}
	}
}

// Ensure that two operators' acts on one entry are both on record, and that an
// effect that took place counts.
func TestRedriveAndDropAtOnce(t *testing.T) {
	w := newWorld(t)
	w.running()
	w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	e := w.entry()
	w.entries.BeforeReplace = func(string) {
		if len(w.entry().Acts) == 0 {
			return
		}
		w.entries.BeforeReplace = nil // between the act's record and its result
		if _, err := w.operate.Drop(t.Context(), e.Source, e.ID, operate.Actor{By: "bob", Why: "old"}); err != nil {
			t.Error(err)
		}
	}
	w.mustRedrive("was sent")
	after := w.entry()
	if after.State != quarantine.Redriven || len(after.Acts) != 2 || after.Acts[0].By != "ada" || after.Acts[0].Result == "" || after.Acts[1].By != "bob" {
		t.Errorf("entry %+v", after)
	}
}
