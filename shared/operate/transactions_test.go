package operate_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func TestRetryGoesOnWithTheUndo(t *testing.T) {
	w := newWorld(t)
	stuck := w.stuck()
	w.refused = false
	w.Clock.Advance(moment)
	acted, err := w.operate.Retry(t.Context(), "t", ada)
	if diff := cmp.Diff(operate.Acted{ID: "t", State: workflow.Compensating}, acted); err != nil || diff != "" {
		t.Fatalf("%v, acted (-want +got):\n%s", err, diff)
	}
	p := w.want(workflow.Compensating)
	if p.Wake != stuck.Wake+1 || !p.WakeAt.Equal(w.Clock.Now()) || !w.Queue.Has(engine.WakeID("t", "compensations", p.Wake)) {
		t.Errorf("wake %d at %s, and was it sent? %v", p.Wake, p.WakeAt, w.Queue.Has(engine.WakeID("t", "compensations", p.Wake)))
	}
	want := workflow.StateChange{At: workflow.At(w.Clock.Now()), Transition: workflow.TransitionRetryUndo, State: workflow.Compensating, Reason: ada.Why, By: "ada"}
	if diff := cmp.Diff(want, p.History[len(p.History)-1]); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.Settle()
	w.want(workflow.Cancelled)
	if live := w.Backends.Live(); len(live) > 0 {
		t.Errorf("left %v", live)
	}
}

// Ensure retries don't fill the document with news that nobody takes.
func TestRetryIsRefusedUntilItsNewsIsTold(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	untold := func(n int) {
		if err := w.Store.Change("t", func(p *workflow.Progress) { p.Outbox.Notices = make([]workflow.Notice, n) }); err != nil {
			t.Fatal(err)
		}
	}
	untold(operate.MaxUntold)
	var refused *operate.RefusedError
	if _, err := w.operate.Retry(t.Context(), "t", ada); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "50 of its notices") {
		t.Errorf("got %v", err)
	}
	w.want(workflow.Stuck)
	untold(operate.MaxUntold - 1)
	if _, err := w.operate.Retry(t.Context(), "t", ada); err != nil {
		t.Error(err)
	}
	untold(0)
	w.Settle()
	w.want(workflow.Stuck)
	untold(operate.MaxUntold)
	if _, err := w.operate.GiveUp(t.Context(), "t", ada); err != nil {
		t.Error(err)
	}
}

func TestGiveUpEndsIt(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	acted, err := w.operate.GiveUp(t.Context(), "t", operate.Actor{By: "ada", Why: "called the hotel"})
	if diff := cmp.Diff(operate.Acted{ID: "t", State: workflow.GivenUp}, acted); err != nil || diff != "" {
		t.Fatalf("%v, acted (-want +got):\n%s", err, diff)
	}
	p := w.want(workflow.GivenUp)
	if p.Reason != "called the hotel" || p.TTL == 0 || p.History[len(p.History)-1].By != "ada" {
		t.Errorf("got %+v", p)
	}
	w.Settle()
	w.want(workflow.GivenUp)
}

// acts are both acts on a transaction.
var transactionActs = map[workflow.Transition]func(*world, operate.Actor) (operate.Acted, error){
	workflow.TransitionRetryUndo: func(w *world, a operate.Actor) (operate.Acted, error) {
		return w.operate.Retry(context.Background(), "t", a)
	},
	workflow.TransitionGiveUp: func(w *world, a operate.Actor) (operate.Acted, error) {
		return w.operate.GiveUp(context.Background(), "t", a)
	},
}

// each runs a test for each act.
func each(t *testing.T, test func(t *testing.T, w *world, transition workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error))) {
	for transition, act := range transactionActs {
		t.Run(string(transition), func(t *testing.T) { test(t, newWorld(t), transition, act) })
	}
}

func TestRepeatedActDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world, transition workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
		w.stuck()
		w.refused = false
		for _, repeated := range []bool{false, true} {
			acted, err := act(w, ada)
			if err != nil || acted.Repeated != repeated {
				t.Fatalf("%+v, %v, want repeated %v", acted, err, repeated)
			}
			w.Settle()
			w.Clock.Advance(moment)
		}
		if n := w.acts(transition); n != 1 {
			t.Errorf("%d acts on record", n)
		}
		var refused *operate.RefusedError
		if _, err := act(w, operate.Actor{By: "bob", Why: ada.Why}); !errors.As(err, &refused) || refused.State == "" || !failure.Is(err, failure.Conflict) {
			t.Errorf("the same by another: %v, want it refused", err)
		}
	})
}

// Ensure that a transaction which is Stuck again can be retried again, by the
// same operator for the same reason.
func TestRetryOfWhatIsStuckAgain(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	for range 2 {
		w.Clock.Advance(moment)
		if acted, err := w.operate.Retry(t.Context(), "t", ada); err != nil || acted.Repeated {
			t.Fatalf("%+v, %v", acted, err)
		}
		w.Settle()
		w.want(workflow.Stuck)
	}
	if n := w.acts(workflow.TransitionRetryUndo); n != 2 {
		t.Errorf("%d acts on record", n)
	}
}

func TestActInAnyOtherStateIsRefused(t *testing.T) {
	for _, state := range workflow.States {
		if state == workflow.Stuck {
			continue
		}
		each(t, func(t *testing.T, w *world, _ workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
			p := workflowtest.FullProgress("t")
			p.State = state
			if _, err := w.Store.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			var refused *operate.RefusedError
			if _, err := act(w, ada); !errors.As(err, &refused) || refused.State != string(state) {
				t.Errorf("%s: %v, want it refused", state, err)
			}
			if diff := cmp.Diff(p, w.Store.Get("t")); diff != "" || w.Queue.Sent() > 0 {
				t.Errorf("%s: a refused act did something (-before +after):\n%s", state, diff)
			}
		})
	}
}

func TestActOnNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world, _ workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
		if _, err := act(w, ada); !failure.Is(err, failure.NotFound) {
			t.Errorf("%v, want not found", err)
		}
	})
}

func TestActNeedsWhoAndWhy(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ö", n) }
	for name, said := range map[string][2]string{
		"nobody": {"", "y"}, "blank": {` \t`, "y"}, "no reason": {"b", ""}, "control characters": {`b\u001b[2J`, "y"},
		"long name": {long(operate.MaxBy + 1), "y"}, "long reason": {"b", long(operate.MaxWhy + 1)},
	} {
		why, err := operate.ReadWhy(fmt.Appendf(nil, `{"by":"%s","why":"%s"}`, said[0], said[1]))
		note, noteErr := operate.ReadNote(fmt.Appendf(nil, `{"by":"%s","note":"%s"}`, said[0], said[1]))
		if err == nil || noteErr == nil {
			t.Errorf("%s: %+v, %+v", name, why, note)
		}
	}
	want := operate.Actor{By: long(operate.MaxBy), Why: long(operate.MaxWhy-1) + "\n"}
	if got, err := operate.ReadWhy(fmt.Appendf(nil, `{"by":%q,"why":%q}`, want.By, want.Why)); err != nil || got != want {
		t.Errorf("the longest: %v", err)
	}
}

// Ensure that an act whose save or send fails is repeated without harm, at each
// of its effects, and ends as if nothing had happened.
func TestActSurvivesLostAnswers(t *testing.T) {
	each(t, func(t *testing.T, _ *world, transition workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
		effects := []string{"read t", "replace t"}
		if transition == workflow.TransitionRetryUndo {
			effects = append(effects, "send t/compensations/")
		}
		for _, effect := range effects {
			for _, fate := range []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose} {
				w := newWorld(t)
				if stuck := w.stuck(); strings.HasSuffix(effect, "/") {
					effect += strconv.Itoa(stuck.Wake + 1)
				}
				w.refused = false
				struck := w.at(effect, 1, fate)
				acted, err := act(w, ada)
				if err == nil && acted.Repeated {
					t.Errorf("%s, fate %d: a first act is told to be a repeated one", effect, fate)
				}
				if err != nil { // the operator does it again
					w.Clock.Advance(moment)
					acted, err = act(w, ada)
				}
				if err != nil || acted.ID != "t" || !*struck {
					t.Fatalf("%s: %+v, %v, struck %v", effect, acted, err, *struck)
				}
				w.Gate.Decide = nil
				w.Settle() // Sweep finds what was not sent
				want := map[workflow.Transition]workflow.State{workflow.TransitionRetryUndo: workflow.Cancelled, workflow.TransitionGiveUp: workflow.GivenUp}
				w.want(want[transition])
				if n := w.acts(transition); n != 1 {
					t.Errorf("%s, fate %d: %d acts on record", effect, fate, n)
				}
			}
		}
	})
}

func TestActInAnOutage(t *testing.T) {
	each(t, func(t *testing.T, w *world, transition workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
		w.stuck()
		tries := 0
		w.Gate.Decide = func(name string, _ int) workflowtest.Fate {
			if name == "replace t" {
				tries++
				return workflowtest.Refuse
			}
			return workflowtest.Pass
		}
		if _, err := act(w, ada); failure.KindOf(err) != failure.Transient || err == nil || tries != 2 {
			t.Errorf("%v after %d tries, want a transient failure after 2", err, tries)
		}
		if w.want(workflow.Stuck); w.acts(transition) != 0 {
			t.Error("an act that failed is on record")
		}
	})
}

// Ensure that an act and others' writes don't overwrite each other.
func TestActBesideOtherWrites(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	w.refused = false
	conflicts := 0
	w.Store.BeforeReplace = func(string) {
		if conflicts++; conflicts > 3 {
			return
		}
		err := w.Store.Change("t", func(p *workflow.Progress) { p.Notified(conflicts) })
		if err != nil {
			t.Error(err)
		}
	}
	if acted, err := w.operate.Retry(t.Context(), "t", ada); err != nil || acted.Repeated {
		t.Fatalf("%+v, %v", acted, err)
	}
	if n := w.acts(workflow.TransitionRetryUndo); n != 1 || conflicts != 4 {
		t.Errorf("%d acts on record after %d writes", n, conflicts)
	}
	// Conflicts without end are the operator's to repeat, not a contradiction.
	w = newWorld(t)
	w.stuck()
	w.Store.BeforeReplace = func(string) {
		if err := w.Store.Change("t", func(*workflow.Progress) {}); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.operate.Retry(t.Context(), "t", ada); failure.KindOf(err) != failure.Transient || err == nil {
		t.Errorf("%v, want a transient failure", err)
	}
}

// Ensure that of two operators who act at once, one does and the other is told.
func TestTwoOperatorsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	w.Store.BeforeReplace = func(string) {
		w.Store.BeforeReplace = nil
		if _, err := w.operate.GiveUp(t.Context(), "t", operate.Actor{By: "bob", Why: "called the hotel"}); err != nil {
			t.Error(err)
		}
	}
	var refused *operate.RefusedError
	if _, err := w.operate.Retry(t.Context(), "t", ada); !errors.As(err, &refused) || refused.State != string(workflow.GivenUp) {
		t.Errorf("%v, want it refused", err)
	}
	w.want(workflow.GivenUp)
}

// Ensure that a runner which believes to have the lease, and saves after the
// retry, changes nothing.
func TestRetryBesideALateRunner(t *testing.T) {
	w := newWorld(t)
	w.refused = true
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
	// The save that leaves the transaction Stuck takes effect, and its answer is
	// lost; before the runner reads what became of it, an operator retries.
	retried := false
	w.Gate.Decide = func(name string, _ int) workflowtest.Fate {
		p := w.Store.Get("t")
		if name == "replace t" && !retried && p.State == workflow.Compensating && p.Step("hotel").State == workflow.StepUndoing {
			retried = true
			return workflowtest.Lose
		}
		return workflowtest.Pass
	}
	read := w.Engine.Pause
	w.Engine.Pause = func(ctx context.Context, d time.Duration) error {
		if retried && w.Store.Get("t").State == workflow.Stuck {
			w.Gate.Decide, w.refused = nil, false
			if _, err := w.operate.Retry(ctx, "t", ada); err != nil {
				t.Error(err)
			}
		}
		return read(ctx, d)
	}
	w.Settle()
	w.want(workflow.Cancelled)
	if n := w.acts(workflow.TransitionRetryUndo); n != 1 || !retried {
		t.Errorf("%d acts on record, want 1", n)
	}
}

func TestNewerSchemaIsLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world, _ workflow.Transition, act func(*world, operate.Actor) (operate.Acted, error)) {
		p := workflowtest.FullProgress("t")
		p.State, p.Schema = workflow.Stuck, workflow.Schema+1
		if _, err := w.Store.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := act(w, ada); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff(p, w.Store.Get("t")); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}
