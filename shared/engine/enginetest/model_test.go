package enginetest_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// checksByDefault is how many histories a normal run tries.
const checksByDefault = 2000

// leftAsItWas is the end of a Completed transaction that a service has refused to
// put back.
const leftAsItWas = "Completed, and left as it was"

// checks is how many this one tries.
func checks() int { return flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int) }

// TestMain makes a normal run try thousands of histories, the same ones each time:
// whether a change lands must not depend on a draw. The command line has the last
// word: -rapid.seed=0 draws others, -rapid.checks=100000 more of them.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(checksByDefault), "rapid.seed": "1"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// history is one life of some transactions, of which every turn is drawn, so
// that a history that breaks a rule can be shrunk to its shortest.
type history struct {
	w *enginetest.World

	// For the message in hand: what happens at which of its effects and calls,
	// counted from 1.
	effects, calls   int
	fateAt           int
	fate             workflowtest.Fate
	dies             bool
	lateAt, nestedAt int
	slow             time.Duration // of the nested call
	wishes           []wish        // that come in meanwhile, for the same transaction
	overtaken        string        // the transaction whose document the other has written beside unsaved results
	away             string        // the service that gives no answer in time, to any call
	dead             bool
	smooth           bool // nothing but deaths and other processes get into its first run's way

	late    []engine.Attempt // given up by their callers, not yet arrived
	posted  map[string][]workflow.Operation
	owners  map[string]string   // by transaction, "" while callers are not known
	foreign map[string][]string // operations of others than the owner
	refused map[string]bool     // steps that the services refuse from the start
	// turns is the service that refuses the first revision when it is asked for it
	// again; asked counts its calls.
	turns   string
	asked   map[string]int
	answers int // of services that answer differently each time
	// answered is the revision that such a service answered last, by path.
	answered map[string]int
	pace     time.Duration // of each call
	seen     map[string]int
	nested   bool // another process is at work within a call
}

// TestHistories is the model of the workflow: whatever the order, the repeats
// and the crashes, a transaction ends as its operations and the services'
// refusals say, and each effect is there once or not at all.
func TestHistories(t *testing.T) {
	ends, seen := map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		h.seen = seen
		if h.smooth {
			h.post(t)
			h.post(t)
			h.message(t)
		}
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
			ends[string(p.State)]++
			if p.State == workflow.Completed && left(t, p) {
				ends[leftAsItWas]++
			}
		}
	})
	t.Logf("ended: %v", ends)
	t.Logf("seen: %v", seen)
	if checks() >= checksByDefault {
		for _, what := range wanted {
			if seen[what] == 0 {
				t.Errorf("no history in which %s", what)
			}
		}
	}
	required := []string{string(workflow.Completed), string(workflow.Rejected), string(workflow.Compensated), string(workflow.Cancelled)}
	if checks() >= checksByDefault { // the rare ones: one in some fifty transactions, and one in ten
		required = append(required, string(workflow.Stuck), leftAsItWas)
	}
	for _, state := range required {
		if ends[state] == 0 {
			t.Errorf("no transaction ended %s: the histories are too tame", state)
		}
	}
}

func newHistory(t *rapid.T) *history {
	d := workflowtest.Trip()
	d.Steps[1].Pivot = true
	d.Steps[1].After, d.Steps[1].Uses = []string{"hotel"}, []string{"hotel"} // one call at a time: a history is nothing but its draws
	h := &history{
		posted: map[string][]workflow.Operation{}, refused: map[string]bool{},
		owners: map[string]string{}, foreign: map[string][]string{},
	}
	for _, id := range transactions {
		h.owners[id] = rapid.SampledFrom([]string{"", "ada"}).Draw(t, "owner of "+id)
	}
	for i := range d.Steps[:2] {
		d.Steps[i].Stable = rapid.Bool().Draw(t, d.Steps[i].Name+" is stable")
	}
	h.smooth = rapid.Bool().Draw(t, "smooth")
	every := rapid.SampledFrom([]time.Duration{500 * time.Millisecond, 500 * time.Millisecond, 5 * time.Second, 0}).Draw(t, "a save every")
	h.pace = rapid.SampledFrom([]time.Duration{0, 0, 200 * time.Millisecond, 600 * time.Millisecond}).Draw(t, "pace")
	if h.smooth {
		every, h.pace = 5*time.Second, 0
	}
	h.w = enginetest.New(t, d, 1, func(c *engine.Config) { c.Budgets.SaveEvery = every })
	for _, step := range []string{"hotel", "flight", "payment"} {
		h.refused[step] = rapid.IntRange(0, 9).Draw(t, "refuses "+step) == 9 && !(h.smooth && step == "hotel")
	}
	h.turns = rapid.SampledFrom([]string{"", "", "", "", "", "", "", "hotel", "flight", "payment"}).Draw(t, "turns")
	h.asked, h.answered = map[string]int{}, map[string]int{}
	h.w.Backends.Answer = func(req engine.Attempt) json.RawMessage {
		if d.Step(req.Step).Stable {
			return fmt.Appendf(nil, `{"revision":%d}`, req.Revision)
		}
		h.answers++
		if h.answered[req.Call.Path] == req.Revision {
			h.note("a service answers differently when it is asked again")
		}
		h.answered[req.Call.Path] = req.Revision
		return fmt.Appendf(nil, `{"revision":%d,"answer":%d}`, req.Revision, h.answers)
	}
	h.w.Gate.Decide, h.w.Backends.OnCall = h.decide, h.call
	h.w.Crashed = func() bool {
		dead := h.dead
		h.dead = false
		return dead
	}
	return h
}

// decide is the fate of the next effect of the message in hand.
func (h *history) decide(effect string, _ int) workflowtest.Fate {
	if h.dead {
		return workflowtest.Refuse
	}
	h.effects++
	if h.effects != h.fateAt {
		return workflowtest.Pass
	}
	h.noteLost(effect)
	if h.dead = h.dies; h.dead {
		h.noteDeath()
	}
	return h.fate
}

// call is what happens at the next call of the message in hand.
func (h *history) call(req engine.Attempt) *workflow.Outcome {
	if h.dead {
		return nil
	}
	h.w.Clock.Advance(h.pace)
	if !req.Undo && h.refused[req.Call.Backend] {
		h.note("%s refuses with %s unsaved", req.Step, results(h.unsaved(req.TransactionID)))
		return new(enginetest.Refused(422, "refused"))
	}
	if !req.Undo && req.Revision == 1 && req.Step == h.turns {
		if h.asked[req.TransactionID]++; h.asked[req.TransactionID] > 1 {
			h.note("a service refuses what it took before")
			return new(enginetest.Refused(422, "refused now"))
		}
	}
	h.calls++
	if h.calls == h.nestedAt {
		h.noteOther(req.TransactionID)
		p, unsaved := h.w.Store.Get(req.TransactionID), h.unsaved(req.TransactionID)
		h.other(req.TransactionID)
		h.noteWishes(p.ID, unsaved, len(p.Operations))
	} else if h.calls == h.lateAt || req.Call.Backend == h.away {
		h.note("%s gives no answer", req.Step)
		h.late = append(h.late, req)
		return new(enginetest.Unavailable("no answer in time"))
	}
	return nil
}

// other lets another process handle a message while a call is under way, with
// no fates of its own.
func (h *history) other(id string) {
	if h.nested {
		return
	}
	h.w.Clock.Advance(h.slow)
	outer := *h
	h.nested = true
	h.fateAt, h.lateAt, h.nestedAt = 0, 0, 0
	for _, w := range h.wishes {
		h.ask(id, w)
		h.receiveLast()
	}
	if len(h.wishes) == 0 {
		h.receiveLast()
	}
	h.nested = false
	h.effects, h.calls = outer.effects, outer.calls
	h.fateAt, h.lateAt, h.nestedAt = outer.fateAt, outer.lateAt, outer.nestedAt
}

func (h *history) receiveLast() {
	if ready := h.w.Queue.Receivable(); len(ready) > 0 {
		h.w.Receive(ready[len(ready)-1])
	}
}

var transactions = []string{"t-1", "t-2"}

func (h *history) post(t *rapid.T) {
	id := rapid.SampledFrom(transactions).Draw(t, "transaction")
	posted := h.posted[id]
	kind := workflow.OperationStart
	if slices.ContainsFunc(posted, func(op workflow.Operation) bool { return op.Kind == workflow.OperationStart }) || rapid.IntRange(0, 3).Draw(t, "early") == 3 {
		kind = rapid.SampledFrom([]workflow.OperationKind{workflow.OperationReschedule, workflow.OperationReschedule, workflow.OperationCancel}).Draw(t, "kind")
	}
	nights := 0
	if kind == workflow.OperationReschedule {
		nights = rapid.IntRange(0, 9).Draw(t, "nights")
	}
	if kind == workflow.OperationStart && h.w.Store.Get(id) != nil {
		h.note("a wish is there before its start")
	}
	h.ask(id, wish{kind, nights})
}

// wish is what a client asks for.
type wish struct {
	kind   workflow.OperationKind
	nights int // of a reschedule
}

func (h *history) ask(id string, w wish) {
	op := workflow.Operation{ID: fmt.Sprintf("%s-op-%02d", id, len(h.posted[id])), Kind: w.kind}
	switch w.kind {
	case workflow.OperationStart:
		op.Body = workflowtest.TripBody()
	case workflow.OperationReschedule:
		op.Body = fmt.Appendf(nil, `{"nights":%d}`, w.nights)
	}
	h.posted[id] = append(h.posted[id], op)
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
	if op.Kind == workflow.OperationStart {
		h.note("a start is repeated")
	}
	h.w.Clock.Advance(enginetest.DuplicateWindow)
	h.w.PostBy(h.owners[id], op.Kind, id, op.ID, op.Body)
}

func drawWish(t *rapid.T) wish {
	kind := rapid.SampledFrom([]workflow.OperationKind{workflow.OperationReschedule, workflow.OperationCancel}).Draw(t, "kind")
	return wish{kind, rapid.IntRange(0, 9).Draw(t, "nights")}
}

// message has any receivable message handled, with a fate for one of its
// effects.
func (h *history) message(t *rapid.T) {
	ready := h.w.Queue.Receivable()
	if len(ready) == 0 {
		t.Skip("nothing to receive")
	}
	d := ready[rapid.IntRange(0, len(ready)-1).Draw(t, "which")]
	h.effects, h.calls, h.dead, h.overtaken = 0, 0, false, ""
	effects, calls := 12, 6
	if h.smooth {
		effects, calls = 6, 3
	}
	h.fateAt = rapid.IntRange(0, effects).Draw(t, "fate at")
	if h.fateAt > 0 {
		h.fate = rapid.SampledFrom([]workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose}).Draw(t, "fate")
		h.dies = rapid.Bool().Draw(t, "dies")
	}
	if !h.smooth {
		h.lateAt = rapid.IntRange(0, 6).Draw(t, "late at")
		h.away = rapid.SampledFrom([]string{"", "", "", "", "hotel", "flight", "payment"}).Draw(t, "away")
	}
	if rapid.Bool().Draw(t, "where it arrived") {
		h.w.Patience = new(rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, time.Second}).Draw(t, "patience"))
	}
	h.nestedAt = rapid.IntRange(0, calls).Draw(t, "other process at")
	if h.nestedAt > 0 {
		for range rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "wishes meanwhile") {
			h.wishes = append(h.wishes, drawWish(t))
		}
		seconds := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 80)).Draw(t, "seconds")
		h.slow = time.Duration(seconds) * time.Second
	}
	h.w.Receive(d)
	h.notePatience()
	h.calm()
}

// calm ends all fates.
func (h *history) calm() {
	h.fateAt, h.lateAt, h.nestedAt, h.wishes, h.away, h.dead, h.w.Patience = 0, 0, 0, nil, "", false, nil
}

// notePatience notes transactions that were left to the queue in the middle.
func (h *history) notePatience() {
	if h.w.Patience == nil {
		return
	}
	for _, p := range h.w.Store.All() {
		i := slices.IndexFunc(p.Steps, func(s workflow.StepProgress) bool { return s.State != workflow.StepSucceeded })
		if p.State == workflow.Running && i > 0 && p.Steps[i].State == workflow.StepPending {
			h.note("patience ends with %s saved", results(i))
		}
	}
}

func (h *history) time(t *rapid.T) {
	h.w.Clock.Advance(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
}

func (h *history) sweep(t *rapid.T) {
	if _, err := h.w.Engine.Sweep(context.Background()); err != nil {
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
	if p := h.w.Store.Get(req.TransactionID); p != nil && p.Revision > 1 && req.Revision == 1 && !req.Undo {
		if h.w.Backends.Revision(req.Call.Path) > 1 {
			h.note("a call of revision 1 arrives after revision 2")
		} else {
			h.note("a call of revision 1 arrives before revision 2")
		}
	}
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
		if p := h.w.Store.Get(id); p != nil && p.Lease.Runner == "" && len(p.Marked()) > 0 {
			t.Fatalf("nobody has the lease, and there is marked %v:\n%s", p.Marked(), enginetest.Describe(p))
		}
	}
}
