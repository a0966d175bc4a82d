package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var (
	shutOut  = workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: 403, Type: "forbidden", Message: "not let in"}
	noAnswer = workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Type: "timeout", Message: "no answer"}
	tooLate  = workflow.Outcome{Retry: workflow.RetryNever, Effect: workflow.EffectNo, Status: 409, Type: workflow.TypeCannotUndo, Message: "it is in the air"}
)

// undoing is a world whose only transaction is cancelled, and whose undo is
// answered with answer. It keeps what is told of it.
type undoing struct {
	*enginetest.World
	log    bytes.Buffer
	lasts  []time.Duration
	answer *workflow.Outcome // nil: it is undone
	began  time.Time
}

func newUndoing(t *testing.T, answer workflow.Outcome) *undoing {
	u := &undoing{answer: &answer}
	u.World = enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) {
		c.PutOff = func(_ context.Context, lasts time.Duration) { u.lasts = append(u.lasts, lasts) }
		c.Log = slog.New(slog.NewJSONHandler(&u.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	u.Backends.OnCall = func(r engine.Attempt) *workflow.Outcome {
		if r.Undo {
			return u.answer
		}
		return nil
	}
	u.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	u.Settle()
	u.began = u.Clock.Now()
	u.Post(workflow.OperationCancel, "t", "op-2", nil)
	return u
}

// pass works on for so long.
func (u *undoing) pass(d time.Duration) {
	u.T.Helper()
	for end := u.Clock.Now().Add(d); ; {
		if u.Step() {
			continue
		}
		next, more := u.Queue.Next()
		if !more || next.After(end) {
			u.Clock.AdvanceTo(end)
			return
		}
		u.Clock.AdvanceTo(next)
	}
}

// warned returns how many warnings of that text there are, each of which names the
// transaction and the step.
func (u *undoing) warned(text string) int {
	u.T.Helper()
	n := 0
	for line := range bytes.Lines(u.log.Bytes()) {
		var entry map[string]any
		if err := json.Unmarshal(line, &entry); err != nil {
			u.T.Fatalf("%s: %v", line, err)
		}
		if entry["msg"] == text {
			n++
			if entry["transaction.id"] != "t" || entry["step"] != "payment" || entry["error"] == "" {
				u.T.Errorf("got %s", line)
			}
		}
	}
	return n
}

// Ensure that being shut out of an undo is told of at once, that it is told of
// again when it has lasted for an hour, and that it ends by itself when we are let
// in.
func TestShutOutOfAnUndo(t *testing.T) {
	u := newUndoing(t, shutOut)
	u.pass(time.Second)
	if n := u.warned("undo refused"); n != 1 || len(u.lasts) != 1 || u.lasts[0] > time.Minute {
		t.Errorf("after the first wake: %d warnings, put off %v:\n%s", n, u.lasts, &u.log)
	}
	u.pass(59 * time.Minute)
	if n := u.warned("undo lasts long"); n != 0 {
		t.Errorf("%d warnings within the hour", n)
	}
	u.pass(10 * time.Minute)
	wantState(t, u.World, workflow.Compensating)
	if n := u.warned("undo lasts long"); n == 0 || n > 4 || slices.Max(u.lasts) < time.Hour || !slices.IsSorted(u.lasts) {
		t.Errorf("after 70 minutes: %d warnings, put off %v", n, u.lasts)
	}
	u.answer = nil
	told := len(u.lasts)
	u.Settle()
	wantState(t, u.World, workflow.Cancelled)
	if len(u.lasts) != told {
		t.Errorf("what is done was put off: %v", u.lasts[told:])
	}
}

// Ensure that it is Stuck in the end, and that an operator's retry counts anew.
func TestShutOutOfAnUndoForADay(t *testing.T) {
	u := newUndoing(t, shutOut)
	u.Settle()
	wantState(t, u.World, workflow.Stuck)
	if lasted := u.Clock.Now().Sub(u.began); lasted < 20*time.Hour || lasted > 40*time.Hour {
		t.Errorf("Stuck after %s", lasted)
	}
	told := len(u.lasts)
	p := u.Store.Get("t").Clone()
	if p.UndoingSince() != (workflow.Instant{}) {
		t.Errorf("Stuck, and being undone since %s", p.UndoingSince())
	}
	if err := p.RetryUndo("ada", "it is mended", u.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if p.UndoingSince() != workflow.At(u.Clock.Now()) || told == 0 {
		t.Errorf("being undone since %s, put off %d times", p.UndoingSince(), told)
	}
}

func TestWhichUndosAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		answer workflow.Outcome
		want   int
	}{
		"by the service":   {enginetest.Refused(409, "no"), 1},
		"shut out":         {shutOut, 1},
		"since it is late": {tooLate, 0}, // Stuck, since this business has no pivot
		"no answer":        {noAnswer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUndoing(t, tc.answer)
			u.pass(time.Second)
			if got := u.warned("undo refused"); got != tc.want {
				t.Errorf("%d warnings, want %d:\n%s", got, tc.want, &u.log)
			}
		})
	}
}
