package operate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// A Reporter counts what was done since its last report, and is quiet after it.
func TestReporter(t *testing.T) {
	w := newWorld(t)
	r := operate.NewReporter("a.1", w.Clock.Now)
	r.Buffer = func() (int, int) { return 3, 4 }
	r.Breakers = func() map[string]time.Duration { return map[string]time.Duration{"cars": 0, "hotels": time.Minute} }
	r.Flushed(ingest.Flush{Events: 10})
	r.Flushed(ingest.Flush{Events: 5, Err: errors.New("away")})
	for range 5 {
		r.Refused(fmt.Errorf("busy: %w", ingest.ErrBusy))
		r.Refused(problem.New(problem.Forbidden, ""))
		r.Refused(problem.New(problem.Unauthorized, ""))
		r.Refused(problem.New(problem.Unavailable, "")) // all of it is somebody else's
	}
	accepted := workflow.At(w.Clock.Now())
	outcome := workflow.Outcome{Retry: workflow.RetryLater, Type: "timeout"}
	for i := range 10 {
		r.Tried(i < 5)
	}
	var during operate.Report
	calls := r.Calls(backend(func() workflow.Outcome { during = r.Take(); return outcome }))
	w.Clock.Advance(5 * time.Second)
	calls.Do(t.Context(), engine.Attempt{Step: "hotel", Call: workflow.Call{Backend: "hotels"}})
	if during.Accepting != (operate.Accepting{PerSecond: 2, FailedPerSecond: 1, RefusedPerSecond: 1, Buffer: 3, Room: 4, Fullest: 0.75}) || during.SignInsRefused != 2 || len(during.Steps) != 1 || during.Steps[0].InFlight != 1 {
		t.Errorf("%+v", during)
	}
	if during.Database != (operate.Database{PerSecond: 2, ThrottledPerSecond: 1}) {
		t.Errorf("database %+v", during.Database)
	}
	if diff := cmp.Diff(map[string]time.Time{"hotels": w.Clock.Now().Add(-time.Minute).UTC()}, during.Breakers); diff != "" {
		t.Errorf("breakers (-want +got):\n%s", diff)
	}
	for _, state := range []workflow.State{workflow.Completed, workflow.Compensating, workflow.Running} {
		r.Changed(t.Context(), workflow.Running, &workflow.Progress{State: state, AcceptedAt: accepted})
	}
	w.Clock.Advance(time.Second)
	after := r.Take()
	if diff := cmp.Diff([]operate.StepFlow{{Step: "hotel", Backend: "hotels", PerSecond: 1, FailedPerSecond: 1, Error: "timeout"}}, after.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if after.Ends[workflow.Completed] != 1 || len(after.Ends) != 1 || after.UndosBegun != 1 || after.Latency != 5 {
		t.Errorf("%+v", after)
	}
	if last := r.Take(); len(last.Steps)+len(last.Ends) != 0 || last.Database.PerSecond != 0 || last.Latency != 0 ||
		last.Accepting.PerSecond+last.Accepting.RefusedPerSecond+last.SignInsRefused != 0 {
		t.Errorf("nothing happened, and %+v", last)
	}
}

// What Service Bus does not take is told until it takes something, or for a while if
// nobody sends again; a send that hangs, too. What is put into the quarantine is told until Sweep has counted it.
func TestReporterTellsWhatStands(t *testing.T) {
	w := newWorld(t)
	r := operate.NewReporter("a.1", w.Clock.Now)
	var unsent time.Time // during the send
	var answer error
	var lasts time.Duration
	to := r.Sends(sender(func() error {
		w.Clock.Advance(lasts)
		unsent = r.Take().UnsentSince
		return answer
	}))
	send := func(err error) time.Time {
		t.Helper()
		answer = err
		if got := to.Send(t.Context()); !errors.Is(got, err) {
			t.Fatalf("%v, want %v", got, err)
		}
		return r.Take().UnsentSince
	}
	away, began := errors.New("away"), w.Clock.Now().UTC()
	if at := send(away); !at.Equal(began) {
		t.Errorf("failed: %v", at)
	}
	w.Clock.Advance(10 * time.Second)
	if at := send(away); !at.Equal(began) {
		t.Errorf("failed again: %v, want %v", at, began)
	}
	if at := send(failure.New(failure.Invalid, "send", "m", nil)); !at.IsZero() {
		t.Errorf("a message that is refused: %v", at)
	}
	send(away)
	w.Clock.Advance(15 * time.Second)
	if at := r.Take().UnsentSince; at.IsZero() {
		t.Error("after 15 s it is no longer told")
	}
	w.Clock.Advance(time.Second)
	if at := r.Take().UnsentSince; !at.IsZero() {
		t.Errorf("after 16 s: %v", at)
	}
	for after, want := range map[time.Duration]bool{4 * time.Second: false, 5 * time.Second: true} {
		lasts = after
		if at := send(nil); unsent.IsZero() == want || !at.IsZero() {
			t.Errorf("a send of %v: during it %v, after it %v", after, unsent, at)
		}
	}
	r.Kept()
	kept := w.Clock.Now().UTC()
	w.Clock.Advance(70 * time.Second)
	if at := r.Take().KeptAt; !at.Equal(kept) {
		t.Errorf("kept at %v, want %v", at, kept)
	}
	w.Clock.Advance(time.Second)
	if at := r.Take().KeptAt; !at.IsZero() {
		t.Errorf("after 71 s: %v", at)
	}
}

type sender func() error

func (s sender) Send(context.Context, ...engine.Queued) error { return s() }

// A refused undo is told until Sweep has counted what is Stuck, or until an undo of
// the step succeeds; one that comes too late is none.
func TestReporterTellsOfRefusedUndos(t *testing.T) {
	w := newWorld(t)
	r := operate.NewReporter("a.1", w.Clock.Now)
	var outcome workflow.Outcome
	calls := r.Calls(backend(func() workflow.Outcome { return outcome }))
	told := func(undo bool, o workflow.Outcome) time.Time {
		t.Helper()
		outcome = o
		calls.Do(t.Context(), engine.Attempt{Step: "hotel", Undo: undo, Call: workflow.Call{Backend: "hotels"}})
		return r.Take().Steps[0].UndoRefusedAt
	}
	refused := workflow.Outcome{Retry: workflow.RetryNever, Effect: workflow.EffectNo, Status: 405, Type: "odd"}
	shutOut := workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: 403}
	if at := told(false, refused); !at.IsZero() {
		t.Errorf("a refused call: %v", at)
	}
	if at := told(true, workflow.Outcome{Retry: workflow.RetryNever, Status: 409, Type: workflow.TypeCannotUndo}); !at.IsZero() {
		t.Errorf("too late: %v", at)
	}
	for _, o := range []workflow.Outcome{refused, shutOut} {
		if at := told(true, o); !at.Equal(w.Clock.Now()) {
			t.Errorf("%+v: %v", o, at)
		}
		if at := told(false, workflow.Outcome{}); at.IsZero() {
			t.Error("a call that succeeds ends it")
		}
		if at := told(true, workflow.Outcome{}); !at.IsZero() {
			t.Errorf("an undo has succeeded since: %v", at)
		}
	}
	told(true, refused)
	w.Clock.Advance(70 * time.Second)
	if steps := r.Take().Steps; len(steps) != 1 || steps[0].UndoRefusedAt.IsZero() {
		t.Errorf("after 70 s: %+v", steps)
	}
	w.Clock.Advance(time.Second)
	if steps := r.Take().Steps; len(steps) != 0 {
		t.Errorf("after 71 s: %+v", steps)
	}
	told(true, workflow.Outcome{})
	w.Clock.Advance(70 * time.Second)
	if steps := r.Take().Steps; len(steps) != 1 || !steps[0].UndoneAt.Equal(w.Clock.Now().Add(-70*time.Second)) {
		t.Errorf("70 s after an undo: %+v", steps)
	}
}

type backend func() workflow.Outcome

func (b backend) Do(context.Context, engine.Attempt) workflow.Outcome { return b() }
