package runnertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fabrikam/drone-delivery/shared/runner"
	"github.com/fabrikam/drone-delivery/shared/runner/runnertest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// TestMain makes a normal run try thousands of histories. -rapid.checks on the
// command line has the last word.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// history is one life of some transactions, of which every turn is drawn, so
// that a history that breaks a rule can be shrunk to its shortest.
type history struct {
	w *runnertest.World

	// For the message in hand: what happens at which of its effects and calls,
	// counted from 1.
	effects, calls   int
	fateAt           int
	fate             workflowtest.Fate
	dies             bool
	lateAt, nestedAt int
	slow             time.Duration // of the nested call
	dead             bool

	late    []runner.Request // given up by their callers, not yet arrived
	posted  map[string][]workflow.Operation
	owners  map[string]string   // by transaction, "" while callers are not known
	foreign map[string][]string // operations of others than the owner
	refused map[string]bool     // steps that the services refuse from the start
	nested  bool                // another process is at work within a call
}

// TestHistories is the model of the workflow: whatever the order, the repeats
// and the crashes, a transaction ends as its operations and the services'
// refusals say, and each effect is there once or not at all.
func TestHistories(t *testing.T) {
	ends := map[workflow.State]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(map[string]func(*rapid.T){
			"post":    h.post,
			"intrude": h.intrude,
			"repeat":  h.repeat,
			"message": h.message,
			"time":    h.time,
			"sweep":   h.sweep,
			"late":    h.arrive,
			"finish":  h.finish,
			"":        func(t *rapid.T) { h.always(t) },
		})
		h.end(t)
		for _, p := range h.w.Store.All() {
			ends[p.State]++
		}
	})
	t.Logf("ended: %v", ends)
	for _, state := range []workflow.State{workflow.Completed, workflow.Rejected, workflow.Compensated, workflow.Cancelled} {
		if ends[state] == 0 {
			t.Errorf("no transaction ended %s: the histories are too tame", state)
		}
	}
}

func newHistory(t *rapid.T) *history {
	d := workflowtest.Trip()
	d.Steps[1].Pivot = true
	d.Steps[1].After = []string{"hotel"} // one call at a time: a history is nothing but its draws
	h := &history{
		posted: map[string][]workflow.Operation{}, refused: map[string]bool{},
		owners: map[string]string{}, foreign: map[string][]string{},
	}
	for _, id := range transactions {
		h.owners[id] = rapid.SampledFrom([]string{"", "ada"}).Draw(t, "owner of "+id)
	}
	h.w = runnertest.New(t, d, 1, nil)
	for _, step := range []string{"hotel", "flight", "payment"} {
		h.refused[step] = rapid.IntRange(0, 9).Draw(t, "refuses "+step) == 9
	}
	h.w.Backends.Answer = func(req runner.Request) json.RawMessage { return fmt.Appendf(nil, `{"revision":%d}`, req.Revision) }
	h.w.Gate.Decide, h.w.Backends.OnCall = h.decide, h.call
	h.w.Crashed = func() bool {
		dead := h.dead
		h.dead = false
		return dead
	}
	return h
}

// decide is the fate of the next effect of the message in hand.
func (h *history) decide(string, int) workflowtest.Fate {
	if h.dead {
		return workflowtest.Refuse
	}
	h.effects++
	if h.effects != h.fateAt {
		return workflowtest.Pass
	}
	h.dead = h.dies
	return h.fate
}

// call is what happens at the next call of the message in hand.
func (h *history) call(req runner.Request) *workflow.Outcome {
	if h.dead {
		return nil
	}
	if !req.Undo && h.refused[req.Call.Backend] {
		return new(runnertest.Refused(422, "refused"))
	}
	h.calls++
	switch h.calls {
	case h.nestedAt:
		h.other()
	case h.lateAt:
		h.late = append(h.late, req)
		return new(runnertest.Unavailable("no answer in time"))
	}
	return nil
}

// other lets another process handle a message while a call is under way, with
// no fates of its own.
func (h *history) other() {
	if h.nested {
		return
	}
	h.w.Clock.Advance(h.slow)
	ready := h.w.Queue.Receivable()
	if len(ready) == 0 {
		return
	}
	outer := *h
	h.nested = true
	h.fateAt, h.lateAt, h.nestedAt = 0, 0, 0
	h.w.Receive(ready[len(ready)-1])
	h.nested = false
	h.effects, h.calls = outer.effects, outer.calls
	h.fateAt, h.lateAt, h.nestedAt = outer.fateAt, outer.lateAt, outer.nestedAt
}

var transactions = []string{"t-1", "t-2"}

func (h *history) post(t *rapid.T) {
	id := rapid.SampledFrom(transactions).Draw(t, "transaction")
	posted := h.posted[id]
	kind := workflow.OperationDeliver
	if slices.ContainsFunc(posted, func(op workflow.Operation) bool { return op.Kind == workflow.OperationDeliver }) || rapid.IntRange(0, 3).Draw(t, "early") == 3 {
		kind = rapid.SampledFrom([]workflow.OperationKind{workflow.OperationReschedule, workflow.OperationReschedule, workflow.OperationCancel}).Draw(t, "kind")
	}
	op := workflow.Operation{ID: fmt.Sprintf("%s-op-%02d", id, len(posted)), Kind: kind}
	switch kind {
	case workflow.OperationDeliver:
		op.Body = workflowtest.TripBody()
	case workflow.OperationReschedule:
		op.Body = fmt.Appendf(nil, `{"nights":%d}`, rapid.IntRange(0, 9).Draw(t, "nights"))
	}
	h.posted[id] = append(posted, op)
	h.w.PostBy(h.owners[id], op.Kind, id, op.ID, op.Body)
}

// intrude has another than the owner ask for something.
func (h *history) intrude(t *rapid.T) {
	id := rapid.SampledFrom(transactions).Draw(t, "transaction")
	if h.owners[id] == "" {
		t.Skip("it is everybody's")
	}
	kind := rapid.SampledFrom([]workflow.OperationKind{workflow.OperationReschedule, workflow.OperationCancel}).Draw(t, "kind")
	op := fmt.Sprintf("%s-foreign-%02d", id, len(h.foreign[id]))
	h.foreign[id] = append(h.foreign[id], op)
	caller := rapid.SampledFrom([]string{"bob", "eve"}).Draw(t, "caller")
	h.w.PostBy(caller, kind, id, op, json.RawMessage(`{"nights":7}`))
}

// repeat puts an operation into the queue once more, when duplicate detection
// has forgotten it.
func (h *history) repeat(t *rapid.T) {
	id := rapid.SampledFrom(transactions).Draw(t, "transaction")
	if len(h.posted[id]) == 0 {
		t.Skip("nothing was posted")
	}
	op := rapid.SampledFrom(h.posted[id]).Draw(t, "operation")
	h.w.Clock.Advance(workflowtest.DuplicateWindow)
	h.w.PostBy(h.owners[id], op.Kind, id, op.ID, op.Body)
}

// message has any receivable message handled, with a fate for one of its
// effects.
func (h *history) message(t *rapid.T) {
	ready := h.w.Queue.Receivable()
	if len(ready) == 0 {
		t.Skip("nothing to receive")
	}
	d := ready[rapid.IntRange(0, len(ready)-1).Draw(t, "which")]
	h.effects, h.calls, h.dead = 0, 0, false
	h.fateAt = rapid.IntRange(0, 12).Draw(t, "fate at")
	if h.fateAt > 0 {
		h.fate = rapid.SampledFrom([]workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose}).Draw(t, "fate")
		h.dies = rapid.Bool().Draw(t, "dies")
	}
	h.lateAt = rapid.IntRange(0, 6).Draw(t, "late at")
	h.nestedAt = rapid.IntRange(0, 6).Draw(t, "other process at")
	if h.nestedAt > 0 {
		h.slow = time.Duration(rapid.IntRange(0, 80).Draw(t, "seconds")) * time.Second
	}
	h.w.Receive(d)
	h.calm()
}

// calm ends all fates.
func (h *history) calm() { h.fateAt, h.lateAt, h.nestedAt, h.dead = 0, 0, 0, false }

func (h *history) time(t *rapid.T) {
	h.w.Clock.Advance(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
}

func (h *history) sweep(t *rapid.T) {
	if _, err := h.w.Supervise.Sweep(context.Background()); err != nil {
		t.Fatalf("sweep: %v", err)
	}
}

// arrive lets a call that was given up take effect after all.
func (h *history) arrive(t *rapid.T) {
	if len(h.late) == 0 {
		t.Skip("nothing is late")
	}
	h.arrives(rapid.IntRange(0, len(h.late)-1).Draw(t, "which"))
}

func (h *history) arrives(i int) {
	req := h.late[i]
	h.late = slices.Delete(h.late, i, i+1)
	h.w.Backends.Do(context.Background(), req)
}

// finish has a flight take off, of a transaction that has one.
func (h *history) finish(t *rapid.T) {
	id := rapid.SampledFrom(transactions).Draw(t, "transaction")
	if !h.w.Backends.Finish("flights/" + id) {
		t.Skip("there is no flight")
	}
}

// always holds at every moment: nothing came into being twice.
func (h *history) always(t *rapid.T) {
	for _, id := range transactions {
		for _, step := range []string{"hotels/", "flights/", "payments/"} {
			if n := h.w.Backends.Created(step + id); n > 1 {
				t.Fatalf("%s came into being %d times", step+id, n)
			}
		}
	}
}

// end lets everything come to rest and compares it with what was asked for.
func (h *history) end(t *rapid.T) {
	h.calm()
	h.w.Settle()
	for len(h.late) > 0 {
		h.arrives(len(h.late) - 1)
	}
	check(t, h.w)
	for _, id := range transactions {
		h.compare(t, id)
	}
}

func (h *history) compare(t *rapid.T, id string) {
	posted := h.posted[id]
	p := h.w.Store.Get(id)
	if p == nil {
		if len(posted) > 0 {
			t.Fatalf("%s is lost", id)
		}
		return
	}
	var delivered, cancelled bool
	for _, op := range posted {
		delivered = delivered || op.Kind == workflow.OperationDeliver
		cancelled = cancelled || op.Kind == workflow.OperationCancel
		if p.Operation(op.ID) == nil || h.w.Outside.Get(op.ID) != nil {
			t.Errorf("operation %s is lost, or outside", op.ID)
		}
	}
	for _, id := range h.foreign[p.ID] {
		op, outside := p.Operation(id), h.w.Outside.Get(id)
		if op != nil && (delivered || op.State != workflow.OperationRefused) {
			t.Errorf("another's operation is on record: %+v", op)
		}
		if (op == nil) != (outside != nil) || outside != nil && outside.State != workflow.OperationRefused {
			t.Errorf("another's operation is %+v, outside %+v", op, outside)
		}
	}
	refuses := h.refused["hotel"] || h.refused["flight"] || h.refused["payment"]
	var allowed []workflow.State
	switch {
	case !delivered:
		allowed = append(allowed, workflow.Rejected) // the delivery never came
	case refuses:
		allowed = append(allowed, workflow.Rejected, workflow.Compensated)
	default:
		allowed = append(allowed, workflow.Completed)
	}
	if cancelled && (delivered || h.owners[id] == "") { // an owner's cancel waits for the delivery
		allowed = append(allowed, workflow.Cancelled)
		if delivered && !refuses {
			allowed = []workflow.State{workflow.Cancelled}
		}
	}
	if p.Cause == workflow.CauseExpired { // the history took longer than its time limit
		allowed = append(allowed, workflow.Rejected, workflow.Compensated)
	}
	if h.w.Backends.Finished("flights/" + id) { // whoever cancelled it, or when
		allowed = []workflow.State{workflow.Completed}
		if refuses || p.Cause == workflow.CauseExpired || p.Step("flight").Error != nil && !completed(p) {
			allowed = []workflow.State{workflow.Stuck} // it failed, or could not be put back before it was ever completed
		}
	}
	if !slices.Contains(allowed, p.State) {
		t.Fatalf("%s ended %s, want one of %v:\n%s", id, p.State, allowed, runnertest.Describe(p))
	}
	h.compareRequest(t, p)
}

// completed reports whether the transaction was Completed at any time.
func completed(p *workflow.Progress) bool {
	return slices.ContainsFunc(p.History, func(e workflow.Entry) bool { return e.Event == workflow.EventComplete })
}

// compareRequest holds the request of a completed transaction to the changes
// that were applied, in the order of their ids.
func (h *history) compareRequest(t *rapid.T, p *workflow.Progress) {
	if p.State != workflow.Completed {
		return
	}
	want := workflowtest.TripBody()
	for _, op := range h.posted[p.ID] {
		if op.Kind != workflow.OperationReschedule || p.Operation(op.ID).State != workflow.OperationApplied {
			continue
		}
		var err error
		if want, err = h.w.Runner.Definition.Merge(want, op.Body); err != nil {
			t.Fatalf("%s was applied: %v", op.ID, err)
		}
	}
	if !bytes.Equal(p.Request, want) {
		t.Errorf("the request is %s, want %s:\n%s", p.Request, want, runnertest.Describe(p))
	}
}
