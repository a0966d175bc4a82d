package enginetest_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var (
	seeds = flag.Uint64("seeds", 80, "how many seeds the random runs use")
	first = flag.Uint64("seed", 1, "the first of them")
)

// chaos makes fates from a seed: the same effect of the same run always meets
// the same fate, whatever the goroutines do.
type chaos struct {
	seed uint64
	w    *enginetest.World

	mu    sync.Mutex
	on    bool
	dead  bool // the process that is running now has died
	calls map[string]int
	late  []engine.Attempt // given up by their callers, not yet arrived

	nested sync.Mutex // held by the call during which another process works
}

func (c *chaos) roll(what string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", c.seed, what, n)
	return h.Sum64() % 1000
}

func (c *chaos) fate(effect string, n int) workflowtest.Fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return workflowtest.Refuse
	}
	if !c.on {
		return workflowtest.Pass
	}
	switch r := c.roll(effect, n); {
	case r < 30:
		return workflowtest.Refuse
	case r < 60:
		return workflowtest.Lose
	case r < 70:
		c.dead = true
		return workflowtest.Refuse
	case r < 80:
		c.dead = true
		return workflowtest.Lose
	}
	return workflowtest.Pass
}

func (c *chaos) crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	dead := c.dead
	c.dead = false
	return dead
}

// call is what happens around a call: a refusal, an outage, a call so slow that
// its lease runs out, and another process at work at the same time.
func (c *chaos) call(req engine.Attempt) *workflow.Outcome {
	c.mu.Lock()
	name := req.Call.Method + " " + req.Call.Path
	c.calls[name]++
	n, on := c.calls[name], c.on
	c.mu.Unlock()
	if !on {
		return nil
	}
	r := c.roll("call "+name, n)
	if r >= 500 && c.nested.TryLock() {
		if r >= 900 {
			c.w.Clock.Advance(70 * time.Second)
		}
		c.w.Step()
		c.nested.Unlock()
	}
	switch {
	case r >= 300 && r < 340:
		c.mu.Lock()
		c.late = append(c.late, req)
		c.mu.Unlock()
		return new(enginetest.Unavailable("no answer in time"))
	case req.Undo && r < 100:
		return new(enginetest.Unavailable("outage"))
	case req.Undo:
	case r < 25:
		return new(enginetest.Refused(422, "refused"))
	case r < 150:
		return new(enginetest.Busy(time.Duration(r) * 100 * time.Millisecond))
	case r < 250:
		return new(enginetest.Unavailable("outage"))
	}
	return nil
}

// arrive lets late calls arrive, the last one first, until n are left.
func (c *chaos) arrive(n int) {
	c.mu.Lock()
	on, dead := c.on, c.dead
	c.on, c.dead = false, false
	c.mu.Unlock()
	for len(c.late) > n {
		last := len(c.late) - 1
		req := c.late[last]
		c.late = c.late[:last]
		c.w.Backends.Do(context.Background(), req)
	}
	c.mu.Lock()
	c.on, c.dead = on, dead
	c.mu.Unlock()
}

// TestRandomLives runs some transactions with random operations against random
// faults, with messages shuffled and repeated. When the faults have ended,
// every transaction must end, and every effect be there once or not at all.
func TestRandomLives(t *testing.T) {
	ends := map[workflow.State]int{}
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, seed, ends) })
	}
	t.Logf("ended: %v", ends)
	for _, state := range []workflow.State{workflow.Completed, workflow.Rejected, workflow.Compensated, workflow.Cancelled} {
		if *seeds >= 80 && ends[state] == 0 {
			t.Errorf("no transaction ended %s: the runs are too tame", state)
		}
	}
}

func randomLife(t *testing.T, seed uint64, ends map[workflow.State]int) {
	d := workflowtest.Trip()
	if seed%4 != 0 {
		// One step after the other: the run depends on nothing but the seed.
		d.Steps[1].After = []string{"hotel"}
	}
	d.Steps[1].Pivot = seed%2 == 1 // the flight: it may take off
	w := enginetest.New(t, d, seed, nil)
	c := &chaos{seed: seed, w: w, on: true, calls: map[string]int{}}
	// Every revision has a result of its own, which the next steps are made of.
	w.Backends.Answer = func(req engine.Attempt) json.RawMessage {
		return fmt.Appendf(nil, `{"revision":%d}`, req.Revision)
	}
	w.Gate.Decide, w.Backends.OnCall, w.Crashed, w.Shuffle = c.fate, c.call, c.crashed, true
	post(w)
	for range 150 {
		if w.Step() {
			continue
		}
		w.Clock.Advance(time.Duration(w.Rand.IntN(30)) * time.Second)
		if _, err := w.Engine.Sweep(context.Background()); err != nil {
			t.Logf("sweep: %v", err)
		}
		if w.Rand.IntN(10) == 0 {
			post(w)
		}
		if w.Rand.IntN(10) == 0 {
			c.arrive(2)
		}
		if d.Steps[1].Pivot && w.Rand.IntN(40) == 0 {
			w.Backends.Finish(fmt.Sprintf("flights/t-%d", w.Rand.IntN(3)))
		}
	}
	c.mu.Lock()
	c.on, c.dead = false, false
	c.mu.Unlock()
	w.Settle()
	for _, p := range w.Store.All() {
		if p.State == workflow.Stuck {
			operatorRetries(t, w, p.ID)
		}
	}
	w.Settle()
	c.arrive(0)
	check(t, w)
	for _, p := range w.Store.All() {
		ends[p.State]++
	}
}

// post sends random operations for three transactions, some of them twice.
func post(w *enginetest.World) {
	for i := range 3 {
		id := fmt.Sprintf("t-%d", i)
		kinds := []workflow.OperationKind{workflow.OperationStart}
		for range w.Rand.IntN(3) {
			kinds = append(kinds, workflow.OperationReschedule)
		}
		if w.Rand.IntN(20) == 0 {
			kinds = append(kinds, workflow.OperationCancel)
		}
		for n, kind := range kinds {
			body := workflowtest.TripBody()
			if kind == workflow.OperationReschedule {
				body = fmt.Appendf(nil, `{"nights":%d}`, w.Rand.IntN(6))
			}
			op := fmt.Sprintf("%s-op-%d", id, n)
			w.Post(kind, id, op, body)
			if w.Rand.IntN(4) == 0 {
				w.Clock.Advance(enginetest.DuplicateWindow)
				w.Post(kind, id, op, body)
			}
		}
	}
}

func operatorRetries(t *testing.T, w *enginetest.World, id string) {
	t.Helper()
	if err := w.Store.Change(id, func(p *workflow.Progress) {
		if err := p.RetryUndo("ada", "again", w.Clock.Now()); err != nil {
			t.Error(err)
		}
		p.RaiseWake(w.Clock.Now())
	}); err != nil {
		t.Fatal(err)
	}
}
