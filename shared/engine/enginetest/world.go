// Package enginetest runs Schedule, Supervise and Sweep against services, store
// and queues in memory, on a clock that moves only on command.
//
// Not emulated: lock renewal.
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Budgets are the values that the system is designed with.
func Budgets() engine.Budgets {
	return engine.Budgets{
		CallTimeout: 2 * time.Second, StepTimeout: 10 * time.Second, InvocationTimeout: 45 * time.Second,
		Lease: time.Minute, LaterMin: 5 * time.Second, LaterMax: 5 * time.Minute,
		CompleteBy: 24 * time.Hour, DocumentTTL: 30 * 24 * time.Hour,
		SaveEvery: 500 * time.Millisecond, InPlaceAttempts: 3, UndoAttempts: 400, DeadLetters: 3,
	}
}

// TB is what a World needs of a test, be it a testing.TB or a rapid.T.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// World is a whole system in one goroutine, but for the calls of a stage.
type World struct {
	T        TB
	Clock    *workflowtest.Clock
	Gate     *workflowtest.Gate
	Store    *workflowtest.Store
	Outside  *workflowtest.Outside
	Queue    *Queue
	Backends *Backends
	Engine   *engine.Engine
	Rand     *rand.Rand
	// Patience, when set, is how long Schedule works on an operation.
	Patience *time.Duration
	// Notify handles the messages of the notifications queue. There are none
	// unless the budgets say so.
	Notify     func(context.Context, engine.Envelope) error
	Quarantine []engine.Envelope
	// Shuffle makes Step take any receivable message instead of the oldest.
	Shuffle bool
	// Crashed, when set, reports whether the process died during the message
	// that was just handled: it is neither completed nor abandoned then.
	Crashed func() bool

	dead []engine.Queued // not reported yet
}

// New returns a world for that business. Change configures the runner; nil
// leaves it as it is. A seed makes a run repeatable.
func New(t TB, d *workflow.Definition, seed uint64, change func(*engine.Config)) *World {
	t.Helper()
	t.Logf("seed %d", seed)
	w := &World{T: t, Clock: workflowtest.NewClock(), Gate: &workflowtest.Gate{}, Rand: rand.New(rand.NewPCG(seed, 0))}
	w.Store = workflowtest.NewStore(w.Gate)
	w.Outside = workflowtest.NewOutside(w.Gate)
	w.Queue = NewQueue(w.Gate, w.Clock.Now)
	w.Backends = NewBackends(w.Gate)
	var mu sync.Mutex
	source := rand.NewPCG(seed, 1)
	c := engine.Config{
		Definition: d, Store: w.Store, Outside: w.Outside, Backends: w.Backends, Sender: w.Queue,
		Queues: map[workflow.Queue]string{
			workflow.QueueTransactions: "deliveries-q", workflow.QueueCompensations: "compensations-q", workflow.QueueNotifications: "notifications-q",
		},
		Budgets: Budgets(), Now: w.Clock.Now, Pause: w.Clock.Pause,
		Random: func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			return source.Uint64()
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	r, err := engine.New(c)
	if err != nil {
		t.Fatalf("new world: %v", err)
	}
	w.Engine = r
	return w
}

// Operation returns an envelope as Ingest makes it, accepted now.
func (w *World) Operation(kind workflow.OperationKind, transaction, operation string, body json.RawMessage) engine.Envelope {
	return engine.Envelope{
		Schema: engine.EnvelopeSchema, TransactionID: transaction, OperationID: operation, Operation: string(kind),
		AcceptedAt: w.Clock.Now(), Body: body,
	}
}

// Post puts an operation of nobody's into the deliveries queue, as Relay does.
func (w *World) Post(kind workflow.OperationKind, transaction, operation string, body json.RawMessage) {
	w.T.Helper()
	w.PostBy("", kind, transaction, operation, body)
}

// PostBy is Post for a caller that is known.
func (w *World) PostBy(caller string, kind workflow.OperationKind, transaction, operation string, body json.RawMessage) {
	w.T.Helper()
	e := w.Operation(kind, transaction, operation, body)
	e.Caller = caller
	b, err := e.Encode()
	if err != nil {
		w.T.Fatalf("post: %v", err)
	}
	m := engine.Queued{Queue: "deliveries-q", MessageID: e.OperationID, Body: b}
	w.Queue.Put(m) // not Send: Relay's effects are not what is tested
}

// Step handles one receivable message and reports whether there was one.
func (w *World) Step() bool {
	w.T.Helper()
	ready := w.Queue.Receivable()
	if len(ready) == 0 {
		return false
	}
	d := ready[0]
	if w.Shuffle {
		d = ready[w.Rand.IntN(len(ready))]
	}
	w.Receive(d)
	return true
}

// Receive handles one message, which must be receivable.
func (w *World) Receive(d *Delivery) {
	w.T.Helper()
	d.Lock()
	e, err := engine.Decode(d.Body)
	if err != nil {
		w.T.Fatalf("message %s: %v", d.MessageID, err)
	}
	err = w.Handle(d.Queued.Queue, e)
	switch {
	case w.Crashed != nil && w.Crashed():
		// The lock runs out.
	case errors.Is(err, engine.ErrUnknownTransaction), errors.Is(err, engine.ErrTooOld):
		w.Quarantine = append(w.Quarantine, e)
		d.Complete()
	case err != nil:
		d.Abandon()
	default:
		d.Complete()
		if d.Queued.Queue != "notifications-q" {
			w.checkSuccessor(e.TransactionID)
		}
	}
	w.deadLetters()
}

// deadLetters reports each dead letter until that succeeds.
func (w *World) deadLetters() {
	w.dead = append(w.dead, w.Queue.TakeDeadLetters()...)
	var left []engine.Queued
	for _, m := range w.dead {
		if m.Queue == "notifications-q" {
			continue // it stands for nothing that is not in the document
		}
		e, err := engine.Decode(m.Body)
		if err != nil {
			w.T.Fatalf("dead letter %s: %v", m.MessageID, err)
		}
		if err := w.Engine.DeadLettered(context.Background(), e.TransactionID, m.Body); err != nil {
			left = append(left, m)
		}
	}
	w.dead = left
}

// Handle gives the envelope to the function of that queue.
func (w *World) Handle(queue string, e engine.Envelope) error {
	switch queue {
	case "compensations-q":
		return w.Engine.Supervise(context.Background(), e)
	case "notifications-q":
		return w.Notify(context.Background(), e)
	}
	if w.Patience != nil && e.Operation != "" { // a wake has a message, which can wait
		return w.Engine.ScheduleWithin(context.Background(), e, *w.Patience)
	}
	return w.Engine.Schedule(context.Background(), e)
}

// checkSuccessor holds the rule: no success for a message of an open
// transaction unless its current wake was sent.
func (w *World) checkSuccessor(id string) {
	w.T.Helper()
	p := w.Store.Get(id)
	if p == nil || p.Rests() {
		return
	}
	want := engine.WakeID(id, string(p.WakeQueue), p.Wake)
	if !w.Queue.Has(want) {
		w.T.Errorf("a message of %s (%s) succeeded, but its wake %s was not sent", id, p.State, want)
	}
}

// Settle runs until nothing is left to do: messages, then the clock moves to
// the next message, or to the next run of Sweep that finds something.
func (w *World) Settle() {
	w.T.Helper()
	const steps = 20000
	nextSweep := w.Clock.Now().Add(30 * time.Second)
	for range steps {
		if w.Step() {
			continue
		}
		due, open := w.overdueAt()
		next, more := w.Queue.Next()
		if !open && !more {
			return
		}
		if due.Before(nextSweep) {
			due = nextSweep
		}
		if open && (!more || due.Before(next)) {
			next = due
		}
		w.Clock.AdvanceTo(next)
		if open && !w.Clock.Now().Before(due) {
			if _, err := w.Engine.Sweep(context.Background()); err != nil {
				w.T.Logf("sweep: %v", err)
			}
			if w.Crashed != nil {
				w.Crashed() // the next run is another process's
			}
			nextSweep = w.Clock.Now().Add(30 * time.Second)
		}
	}
	for _, p := range w.Store.All() {
		w.T.Logf("%s", Describe(p))
	}
	w.T.Fatalf("not settled after %d steps, %d messages left", steps, w.Queue.Len())
}

// overdueAt returns when the first open transaction, or the first notice, is
// overdue for Sweep, and whether there is any.
func (w *World) overdueAt() (due time.Time, open bool) {
	note := func(at time.Time) {
		if !open || at.Before(due) {
			due, open = at, true
		}
	}
	for _, p := range w.Store.All() {
		if !p.Rests() {
			note(p.WakeAt.Add(20 * time.Second))
		}
		if len(p.Outbox.Notices) > 0 {
			note(p.Outbox.At.Add(65 * time.Second))
		}
	}
	return due, open
}

// Describe returns the document in a readable form, for failure messages.
func Describe(p *workflow.Progress) string {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Sprintf("%s: %v", p.ID, err)
	}
	return string(b)
}
