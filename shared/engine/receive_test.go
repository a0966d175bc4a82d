package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure an operation whose message was given up is done all the same: it is put
// on record without a call, with a wake that brings it to its end.
func TestReceiveLostOperation(t *testing.T) {
	completed := func(t *testing.T, w *enginetest.World) {
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
		wantState(t, w, workflow.Completed)
	}
	held := func(t *testing.T, w *enginetest.World) {
		w.Backends.OnCall = func(engine.Attempt) *workflow.Outcome { return new(enginetest.Busy(time.Minute)) }
		w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Step()
		until := w.Clock.Now().Add(time.Hour)
		if err := w.Store.Change("t", func(p *workflow.Progress) { p.Take("another", until, engine.LeaseMargin) }); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		before func(*testing.T, *enginetest.World)
		kind   workflow.OperationKind
		body   json.RawMessage
		ends   workflow.State
	}{
		"delivery, nothing known": {nil, workflow.OperationStart, workflowtest.TripBody(), workflow.Completed},
		"cancel, nothing known":   {nil, workflow.OperationCancel, nil, workflow.Cancelled},
		"cancel of a completed":   {completed, workflow.OperationCancel, nil, workflow.Cancelled},
		"change of a completed":   {completed, workflow.OperationReschedule, json.RawMessage(`{"nights":5}`), workflow.Completed},
		"cancel beside a runner":  {held, workflow.OperationCancel, nil, workflow.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, workflowtest.Trip(), 1, nil)
			if tc.before != nil {
				tc.before(t, w)
			}
			calls := len(w.Backends.Calls())
			e := w.Operation(tc.kind, "t", "op-5", tc.body)
			if fresh, err := w.Engine.Receive(t.Context(), e); err != nil || !fresh {
				t.Fatalf("fresh %v, %v", fresh, err)
			}
			if n := len(w.Backends.Calls()); n != calls {
				t.Errorf("%d calls were made", n-calls)
			}
			if fresh, err := w.Engine.Receive(t.Context(), e); err != nil || fresh {
				t.Errorf("a second time: fresh %v, %v", fresh, err)
			}
			w.Backends.OnCall = nil
			w.Settle()
			p := wantState(t, w, tc.ends)
			if op := p.Operation("op-5"); op == nil || op.State != workflow.OperationApplied {
				t.Errorf("the operation is %+v", op)
			}
		})
	}
}

// Ensure that another's operation leaves the transaction alone, whichever way it
// comes, and is on record outside.
func TestReceiveAnothersOperation(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	w.PostBy("ada", workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	before := wantState(t, w, workflow.Completed)
	e := w.Operation(workflow.OperationCancel, "t", "op-5", nil)
	e.Caller = "bob"
	if fresh, err := w.Engine.Receive(t.Context(), e); err != nil || !fresh {
		t.Errorf("fresh %v, %v", fresh, err)
	}
	w.PostBy("bob", workflow.OperationCancel, "t", "op-6", nil)
	w.Settle()
	if after := wantState(t, w, workflow.Completed); !reflect.DeepEqual(before, after) {
		t.Errorf("before %s\nafter %s", enginetest.Describe(before), enginetest.Describe(after))
	}
	for _, id := range []string{"op-5", "op-6"} {
		if o := w.Outside.Get(id); o == nil || o.State != workflow.OperationRefused || o.Caller != "bob" || o.Reason != workflow.NotYours ||
			o.EndedAt.IsZero() || o.TTL != 30*24*60*60 {
			t.Errorf("%s outside: %+v", id, o)
		}
	}
}

// Ensure that no message is settled, and nothing saved, before what the document
// does not hold is on record outside.
func TestOutsideComesFirst(t *testing.T) {
	foreign := func(w *enginetest.World) {
		w.PostBy("ada", workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
		w.Settle()
		w.PostBy("bob", workflow.OperationCancel, "t", "op-5", nil)
	}
	early := func(w *enginetest.World) {
		w.PostBy("bob", workflow.OperationCancel, "t", "op-5", nil)
		w.Step()
		w.PostBy("ada", workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	}
	for name, begin := range map[string]func(*enginetest.World){"foreign": foreign, "early": early} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.New(t, workflowtest.Trip(), 1, nil)
			begin(w)
			before := w.Store.Get("t")
			down := true
			w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
				if down && effect == "outside op-5" {
					return workflowtest.Refuse
				}
				return workflowtest.Pass
			}
			w.Step()
			if after := w.Store.Get("t"); !reflect.DeepEqual(before, after) || w.Queue.Len() == 0 {
				t.Errorf("%d messages are left, before %s\nafter %s", w.Queue.Len(), enginetest.Describe(before), enginetest.Describe(after))
			}
			down = false
			w.Settle()
			if o := w.Outside.Get("op-5"); o == nil || o.State != workflow.OperationRefused || o.Reason != workflow.NotYours {
				t.Errorf("outside: %+v", o)
			}
			wantState(t, w, workflow.Completed)
		})
	}
}

// Ensure that an end outside is for good: strangers fill the document before the
// delivery, the owner's operation is refused for it, and its message comes once
// more when there is room again.
func TestRefusedForRoomStaysRefused(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	for i := range workflow.MaxOperations {
		w.PostBy("bob", workflow.OperationReschedule, "t", fmt.Sprintf("bob-%02d", i), json.RawMessage(`{"nights":7}`))
	}
	w.PostBy("ada", workflow.OperationReschedule, "t", "op-2", json.RawMessage(`{"nights":5}`))
	for w.Step() {
	}
	w.PostBy("ada", workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.Clock.Advance(enginetest.DuplicateWindow)
	w.PostBy("ada", workflow.OperationReschedule, "t", "op-2", json.RawMessage(`{"nights":5}`))
	w.PostBy("ada", workflow.OperationReschedule, "t", "op-3", json.RawMessage(`{"nights":6}`))
	w.Settle()
	p := wantState(t, w, workflow.Completed)
	if o := w.Outside.Get("op-2"); p.Operation("op-2") != nil || o == nil || o.State != workflow.OperationRefused {
		t.Errorf("op-2 is %+v, outside %+v", p.Operation("op-2"), o)
	}
	if o := p.Operation("op-3"); o == nil || o.State != workflow.OperationApplied || w.Outside.Get("op-3") != nil {
		t.Errorf("op-3 is %+v", o)
	}
	if n := len(w.Outside.All()); n != workflow.MaxOperations+1 {
		t.Errorf("%d operations outside", n)
	}
}

// Ensure a store that is down leaves the message where it is.
func TestReceiveWithoutAStore(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	w.Gate.Decide = func(string, int) workflowtest.Fate { return workflowtest.Refuse }
	_, err := w.Engine.Receive(t.Context(), w.Operation(workflow.OperationCancel, "t", "op-5", nil))
	if err == nil || failure.KindOf(err) != failure.Transient {
		t.Errorf("error %v, want a transient one", err)
	}
}

// Ensure that wishes, however many, don't make the holder of the lease give up.
func TestManyWishesBesideARunner(t *testing.T) {
	w := world(t)
	const most = 20
	wishes := 0
	w.Store.BeforeReplace = func(id string) {
		if p := w.Store.Get(id); p == nil || p.Lease.Runner == "" || wishes == most {
			return
		}
		wishes++
		if err := w.Store.Change(id, func(p *workflow.Progress) { p.DeadLetters = 0 }); err != nil {
			t.Errorf("the wish: %v", err)
		}
	}
	begun := w.Clock.Now()
	w.Settle()
	wantState(t, w, workflow.Completed)
	if took := w.Clock.Now().Sub(begun); wishes != most || took > time.Second {
		t.Errorf("%d wishes, %v", wishes, took)
	}
}

// Ensure that a message is not settled when its operation could not be stored.
func TestOperationThatCanNotBeStored(t *testing.T) {
	w := enginetest.New(t, workflowtest.Trip(), 1, nil)
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		if effect == "create t" {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	err := w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationStart, "t", "op-1", workflowtest.TripBody()))
	if err == nil || failure.KindOf(err) != failure.Transient || w.Store.Get("t") != nil {
		t.Errorf("error %v, want a transient one", err)
	}
}
