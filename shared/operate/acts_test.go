package operate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// waiting makes transaction t wait for the hotel, which is away.
func (w *world) waiting() *workflow.Progress {
	w.t.Helper()
	away := true
	w.Backends.OnCall = func(a engine.Attempt) *workflow.Outcome {
		if away && a.Call.Backend == "hotel" {
			return &workflow.Outcome{Retry: workflow.RetryLater, Type: "timeout", Message: "no answer"}
		}
		return nil
	}
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	for w.Step() {
	}
	away = false
	p := w.want(workflow.Running)
	if !p.WakeAt.After(w.Clock.Now()) || p.Lease.Runner != "" {
		w.t.Fatalf("it doesn't wait:\n%s", enginetest.Describe(p))
	}
	return p
}

// Ensure that what waits goes on at once when an operator says so, and that the act
// is on record, once.
func TestWakeNow(t *testing.T) {
	w := newWorld(t)
	p := w.waiting()
	if acts := w.story().Acts; !cmp.Equal(acts, []string{operate.ActWake}) {
		t.Errorf("it can be %v", acts)
	}
	begun := w.Clock.Now().Truncate(time.Millisecond)
	for _, repeated := range []bool{false, true} {
		acted, err := w.operate.Wake(t.Context(), "t", ada)
		if diff := cmp.Diff(operate.Acted{ID: "t", State: workflow.Running, Repeated: repeated}, acted); err != nil || diff != "" {
			t.Fatalf("%v, acted (-want +got):\n%s", err, diff)
		}
		w.Clock.Advance(moment)
	}
	woken := w.want(workflow.Running)
	if woken.Wake != p.Wake+1 || !woken.WakeAt.Equal(begun) || !w.Queue.Has(engine.WakeID("t", "transactions", woken.Wake)) {
		t.Errorf("wake %d at %s, after wake %d", woken.Wake, woken.WakeAt, p.Wake)
	}
	want := workflow.StateChange{At: workflow.At(begun), Transition: workflow.TransitionHasten, State: workflow.Running, Reason: ada.Why, By: "ada"}
	if diff := cmp.Diff(want, woken.History[len(woken.History)-1]); diff != "" || w.acts(workflow.TransitionHasten) != 1 {
		t.Errorf("%d on record, the last (-want +got):\n%s", w.acts(workflow.TransitionHasten), diff)
	}
	for w.Step() {
	}
	w.want(workflow.Completed)
	if waited := w.Clock.Now().Sub(begun); waited > 3*moment {
		t.Errorf("it has waited for %s", waited)
	}
	if acted, err := w.operate.Wake(t.Context(), "t", ada); err != nil || !acted.Repeated {
		t.Errorf("%+v, %v", acted, err)
	}
}

// Ensure that an operator can wake again what has waited again meanwhile.
func TestWakeAgain(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	for range 2 {
		if acted, err := w.operate.Wake(t.Context(), "t", ada); err != nil || acted.Repeated {
			t.Fatalf("%+v, %v", acted, err)
		}
		if err := w.Store.Change("t", func(p *workflow.Progress) { p.RaiseWake(w.Clock.Now().Add(time.Minute)) }); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(moment)
	}
	if n := w.acts(workflow.TransitionHasten); n != 2 {
		t.Errorf("%d wakes on record", n)
	}
}

func TestWakeIsRefused(t *testing.T) {
	for want, prepare := range map[string]func(*world){
		"it is being worked on": func(w *world) {
			w.waiting()
			if err := w.Store.Change("t", func(p *workflow.Progress) {
				p.Take("runner-1", w.Clock.Now().Add(time.Minute), engine.LeaseMargin)
			}); err != nil {
				w.t.Fatal(err)
			}
		},
		"only an open transaction can be woken; one that is Stuck can be retried": func(w *world) { w.stuck() },
	} {
		w := newWorld(t)
		prepare(w)
		before := w.Store.Get("t")
		var refused *operate.RefusedError
		if _, err := w.operate.Wake(t.Context(), "t", ada); !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, want) {
			t.Errorf("%v, want %s", err, want)
		}
		if diff := cmp.Diff(before, w.Store.Get("t")); diff != "" {
			t.Errorf("%s (-before +after):\n%s", want, diff)
		}
	}
}

// Ensure that each of several is answered for, in order, and that those that fail keep
// no other from being done.
func TestActsOnSeveral(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	stuck := w.Store.Get("t")
	for i := range 20 {
		p := stuck.Clone()
		p.ID = fmt.Sprint("t-", i)
		w.store(p)
	}
	w.store(&workflow.Progress{ID: "done", State: workflow.Completed})
	failing := true
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		if failing && effect == "replace t-3" {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	acts := operate.Acts{Act: operate.ActRetry, By: ada, IDs: []string{"nobody", "done"}}
	for i := range 20 {
		acts.IDs = append(acts.IDs, fmt.Sprint("t-", i))
	}
	for _, again := range []bool{false, true} {
		results := w.operate.ActOnAll(t.Context(), acts)
		want := []operate.Result{{ID: "nobody", Result: "nothing is known of it"},
			{ID: "done", State: "Completed", Result: "only a transaction that is Stuck can be retried or given up"}}
		for i := range 20 {
			r := operate.Result{ID: fmt.Sprint("t-", i), Done: true, State: "Compensating", Repeated: again && i != 3}
			if i == 3 && !again {
				if text := results[5].Result; !strings.HasPrefix(text, "nobody knows whether it was done: ") || !strings.HasSuffix(text, "repeat the act") {
					t.Errorf("what has failed: %s", text)
				}
				r = operate.Result{ID: r.ID, Result: results[5].Result}
			}
			want = append(want, r)
		}
		if diff := cmp.Diff(want, results); diff != "" {
			t.Errorf("again: %v (-want +got):\n%s", again, diff)
		}
		w.Clock.Advance(moment)
		failing = false
	}
	for i := range 20 {
		p := w.Store.Get(fmt.Sprint("t-", i))
		if e := p.History[len(p.History)-1]; e.Transition != workflow.TransitionRetryUndo || e.By != "ada" || e.Reason != ada.Why {
			t.Errorf("%s has %+v on record", p.ID, e)
		}
	}
	if p := w.want(workflow.Stuck); p.Wake != stuck.Wake {
		t.Error("another one was woken")
	}
}

// Ensure that entries of the quarantine are acted on in the same way, and that what the
// time was too short for is told.
func TestActsOnEntries(t *testing.T) {
	w := newWorld(t)
	e := w.keep([]byte("rubbish"))
	for _, c := range []struct {
		act  string
		want operate.Result
	}{
		{"redrive", operate.Result{State: "Kept", Result: "it asks for nothing: "}},
		{"drop", operate.Result{Done: true, State: "Dropped", Result: "it needs no action"}},
	} {
		act, want := c.act, c.want
		results := w.operate.ActOnAll(t.Context(), operate.Acts{Act: act, By: ada, IDs: []string{e.Source + "/" + e.ID, e.Source + "/" + e.Source + ".2"}})
		got := results[0]
		if got.Done != want.Done || !strings.HasPrefix(got.Result, want.Result) || got.State != want.State {
			t.Errorf("%s: %+v, want %+v", act, got, want)
		}
		if results[1].Done || results[1].Result != "nothing is known of it" {
			t.Errorf("%s of another: %+v", act, results[1])
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late := w.operate.ActOnAll(ended, operate.Acts{Act: operate.ActWake, By: ada, IDs: []string{"t"}})
	if late[0].Done || !strings.HasPrefix(late[0].Result, "nothing was done") {
		t.Errorf("too late: %+v", late[0])
	}
}

func TestActsTellAllFaults(t *testing.T) {
	many := strings.Repeat(`"t",`, operate.MaxAtOnce) + `"u"`
	for body, want := range map[string]string{
		`{}`: "/act is required; /ids must have 1 to 500 ids, not 0; /by is required; /why is required",
		`{"act":"shout","ids":[` + many + `],"by":"ada","why":" "}`:         "/act must be one of retry, giveup, wake, redrive, drop; /ids must have 1 to 500 ids, not 501; /why is required",
		`{"act":"retry","ids":["a","b b","a",""],"by":"ada","why":"x"}`:     "/ids/1 " + problem.IDRule + "; /ids/2 is the same as /ids/0; /ids/3 " + problem.IDRule,
		`{"act":"drop","ids":["q/q.1","q.1","q/r.1"],"by":"ada","why":"x"}`: "/ids/1 must be an entry's source, a slash and its id; /ids/2 must be an entry's source, a slash and its id",
		`{"act":"wake","ids":["a"],"by":"ada","why":"x","force":true}`:      "/force is not a known field",
	} {
		_, err := operate.ReadActs([]byte(body))
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Fatalf("%.60s: %v", body, err)
		}
		var all []string
		for _, f := range p.Errors {
			all = append(all, f.Pointer+" "+f.Detail)
		}
		if diff := cmp.Diff(want, strings.Join(all, "; ")); diff != "" {
			t.Errorf("%.60s (-want +got):\n%s", body, diff)
		}
	}
	read, err := operate.ReadActs([]byte(`{"act":"giveup","ids":["a","b"],"by":"ada","why":"by hand"}`))
	want := operate.Acts{Act: "giveup", IDs: []string{"a", "b"}, By: operate.Actor{By: "ada", Why: "by hand"}}
	if diff := cmp.Diff(want, read); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
