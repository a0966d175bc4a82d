package enginetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func send(t *testing.T, q *enginetest.Queue, id string, at time.Time) {
	t.Helper()
	if err := q.Send(t.Context(), engine.Queued{Queue: "q", MessageID: id, At: at}); err != nil {
		t.Fatal(err)
	}
}

// Ensure a repeat is dropped even when the first was completed, until the
// window is over.
func TestQueueDuplicates(t *testing.T) {
	clock := workflowtest.NewClock()
	q := enginetest.NewQueue(nil, clock.Now)
	send(t, q, "a", time.Time{})
	q.Receivable()[0].Complete()
	send(t, q, "a", time.Time{})
	if n := q.Len(); n != 0 {
		t.Errorf("a repeat was taken in: %d messages", n)
	}
	clock.Advance(enginetest.DuplicateWindow)
	send(t, q, "a", time.Time{})
	if n := q.Len(); n != 1 {
		t.Errorf("%d messages behind the window, want 1", n)
	}
}

func TestQueueSchedulesLocksAndDeadLetters(t *testing.T) {
	clock := workflowtest.NewClock()
	q := enginetest.NewQueue(nil, clock.Now)
	send(t, q, "a", clock.Now().Add(time.Minute))
	if len(q.Receivable()) != 0 {
		t.Fatal("a scheduled message is there before its time")
	}
	clock.Advance(time.Minute)
	for range enginetest.MaxDeliveryCount {
		d := q.Receivable()[0]
		d.Lock()
		if len(q.Receivable()) != 0 {
			t.Fatal("a locked message is received again")
		}
		d.Abandon()
	}
	if dead := q.TakeDeadLetters(); len(dead) != 1 || dead[0].MessageID != "a" || q.Len() != 0 {
		t.Errorf("dead letters %v and %d messages, want a alone", dead, q.Len())
	}
}

func TestQueueFates(t *testing.T) {
	clock := workflowtest.NewClock()
	fates := []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose}
	gate := &workflowtest.Gate{Decide: func(_ string, n int) workflowtest.Fate { return fates[n-1] }}
	q := enginetest.NewQueue(gate, clock.Now)
	for i, want := range []int{0, 1} {
		err := q.Send(t.Context(), engine.Queued{Queue: "q", MessageID: "a"})
		if !errors.Is(err, workflowtest.ErrFate) || q.Len() != want {
			t.Errorf("send %d: error %v and %d messages, want %d", i+1, err, q.Len(), want)
		}
	}
}
