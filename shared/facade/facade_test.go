package facade

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// What is asked for is a name; the service refuses "too much".
const (
	cheap   = "cheap"
	dear    = "dear"
	tooMuch = "too much"
)

var errLost = errors.New("no answer")

// ledger is a service that keeps its keys: what was given under each, "" for a
// refusal, and what was revoked.
type ledger struct {
	before  func(op string) recordtest.Fault
	asked   map[string]string
	revoked map[string]bool
	made    int
}

func (l *ledger) Post(_ context.Context, key, ask string) (string, error) {
	fault := l.before("post")
	if fault == recordtest.Fail {
		return "", errLost
	}
	if first, known := l.asked[key]; known && first != ask {
		panic(fmt.Sprintf("key %s is of %s, and comes with %s", key, first, ask))
	} else if !known {
		l.asked[key] = ask
		l.made++
	}
	switch {
	case fault == recordtest.Lost:
		return "", errLost
	case ask == tooMuch:
		return "", &problem.Problem{Type: "declined", Status: 422}
	}
	return "given " + key, nil
}

func (l *ledger) Revoke(_ context.Context, key, given string) error {
	fault := l.before("revoke")
	if fault == recordtest.Fail {
		return errLost
	}
	if given != "given "+key {
		panic("revoked is " + given + " under " + key)
	}
	l.revoked[key] = true
	if fault == recordtest.Lost {
		return errLost
	}
	return nil
}

// standing is what was given and not revoked.
func (l *ledger) standing() (asks []string) {
	for key, ask := range l.asked {
		if ask != tooMuch && !l.revoked[key] {
			asks = append(asks, ask)
		}
	}
	return asks
}

// world is a façade whose storage and service count their operations together.
// At the operation with the number at, happens is called, once.
type world struct {
	t *testing.T
	*Facade[string, string]
	ledger  *ledger
	store   *recordtest.Memory[Record[string, string]]
	now     time.Time
	ops, at int
	happens func() recordtest.Fault
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), at: -1}
	before := func() recordtest.Fault {
		w.ops++
		if w.ops-1 == w.at {
			return w.happens()
		}
		return recordtest.None
	}
	w.ledger = &ledger{
		before: func(string) recordtest.Fault { return before() },
		asked:  map[string]string{}, revoked: map[string]bool{},
	}
	w.store = &recordtest.Memory[Record[string, string]]{Before: func(recordtest.Op, string) recordtest.Fault { return before() }}
	w.Facade = &Facade[string, string]{
		Store: w.store, Service: w.ledger, Now: func() time.Time { return w.now }, KeyLife: 48 * time.Hour,
	}
	return w
}

func by(revision int) record.By { return record.By{TransactionID: "t", Revision: revision} }

// put repeats a PUT as the workflow does, until it is answered for good, and
// returns the type of the refusal, "" if there is none.
func (w *world) put(revision int, ask string) string {
	w.t.Helper()
	for range 4 {
		_, _, err := w.Put(w.t.Context(), "t", by(revision), ask)
		var p *problem.Problem
		switch {
		case err == nil:
			return ""
		case errors.As(err, &p):
			return p.Type
		}
	}
	w.t.Fatalf("revision %d: no end to the failures", revision)
	return ""
}

func (w *world) undo() {
	w.t.Helper()
	for range 4 {
		if w.Delete(w.t.Context(), "t", by(1)) == nil {
			return
		}
	}
	w.t.Fatal("undo: no end to the failures")
}

// stands checks the record against the ledger: ask is what there is, alone, and ""
// is nothing.
func (w *world) stands(ask string) {
	w.t.Helper()
	all, err := w.store.All()
	if err != nil {
		w.t.Fatal(err)
	}
	rec := all["t"]
	standing := w.ledger.standing()
	if len(rec.Content.Open) > 0 {
		w.t.Errorf("left open: %+v", rec.Content.Open)
	}
	if ask == "" && (rec.Live() || len(standing) > 0) {
		w.t.Errorf("live %v, standing %v, want nothing", rec.Live(), standing)
	}
	if ask != "" && (!rec.Live() || rec.Content.Current.Ask != ask || len(standing) != 1 || standing[0] != ask) {
		w.t.Errorf("live %v %q, standing %v, want %q", rec.Live(), rec.Content.Current.Ask, standing, ask)
	}
}

// The stories: what the workflow does, and what stands at the end.
var stories = []struct {
	name  string
	run   func(w *world)
	want  string
	posts int // without faults
}{
	{"put", func(w *world) { w.put(1, cheap) }, cheap, 1},
	{"put, undo", func(w *world) { w.put(1, cheap); w.undo() }, "", 1},
	{"undo without a put", func(w *world) { w.undo(); w.put(1, cheap) }, "", 0},
	{"refused", func(w *world) { w.put(1, tooMuch) }, "", 1},
	{"refused, undo", func(w *world) { w.put(1, tooMuch); w.undo() }, "", 1},
	{"change", func(w *world) { w.put(1, cheap); w.put(2, dear) }, dear, 2},
	{"change, undo", func(w *world) { w.put(1, cheap); w.put(2, dear); w.undo() }, "", 2},
	{"change refused", func(w *world) { w.put(1, cheap); w.put(2, tooMuch) }, cheap, 2},
	{"change refused, put back", func(w *world) { w.put(1, cheap); w.put(2, tooMuch); w.put(3, cheap) }, cheap, 2},
	{"change and back, undo", func(w *world) { w.put(1, cheap); w.put(2, dear); w.put(3, cheap); w.undo() }, "", 3},
	{"same again", func(w *world) { w.put(1, cheap); w.put(2, cheap) }, cheap, 1},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld(t)
			s.run(w)
			w.stands(s.want)
			if w.ledger.made != s.posts {
				t.Errorf("%d posts, want %d", w.ledger.made, s.posts)
			}
		})
	}
}

// everyOp runs a story as often as it has operations, and has something happen
// at each of them in turn.
func everyOp(t *testing.T, run func(*world), happens func(*world) recordtest.Fault, check func(*world)) {
	t.Helper()
	for at := 0; ; at++ {
		w := newWorld(t)
		w.at = at
		w.happens = func() recordtest.Fault { return happens(w) }
		run(w)
		if check(w); t.Failed() {
			t.Fatalf("at operation %d of %d", at, w.ops)
		}
		if at >= w.ops {
			return
		}
	}
}

// Ensure each story ends as it does without faults, whichever operation fails or
// loses its answer.
func TestStoriesUnderFaults(t *testing.T) {
	for _, s := range stories {
		for name, fault := range map[string]recordtest.Fault{"fails": recordtest.Fail, "lost": recordtest.Lost} {
			t.Run(s.name+", "+name, func(t *testing.T) {
				everyOp(t, s.run, func(*world) recordtest.Fault { return fault }, func(w *world) { w.stands(s.want) })
			})
		}
	}
}

// Ensure that what comes between any two operations of a story changes nothing
// of its end, or ends it: an undo wins over a PUT that is on its way, the later
// revision over the earlier one, and a second PUT makes nothing twice.
func TestCallsBetween(t *testing.T) {
	between := []struct {
		name string
		run  func(*world)
		want func(before string) string
	}{
		{"undo", (*world).undo, func(string) string { return "" }},
		{"repeat", func(w *world) { w.put(1, cheap) }, func(before string) string { return before }},
		{"later revision", func(w *world) { w.put(9, dear) }, func(before string) string {
			if before == "" {
				return ""
			}
			return dear
		}},
	}
	for _, s := range stories {
		if s.name == "refused" || s.name == "refused, undo" {
			continue // a repeat has other content than its key
		}
		for _, b := range between {
			t.Run(s.name+", "+b.name, func(t *testing.T) {
				everyOp(t, s.run, func(w *world) recordtest.Fault {
					b.run(w)
					return recordtest.None
				}, func(w *world) {
					if w.ops > w.at { // it happened
						w.stands(b.want(s.want))
					}
				})
			})
		}
	}
}

// Ensure nothing is guessed once the service may have forgotten a key: a repeat
// could charge twice, and an undo would not find the first charge.
func TestKeyExpires(t *testing.T) {
	w := newWorld(t)
	w.at, w.happens = 2, func() recordtest.Fault { return recordtest.Lost } // the post
	if _, _, err := w.Put(t.Context(), "t", by(1), cheap); err == nil {
		t.Fatal("the answer was lost")
	}
	w.now = w.now.Add(w.KeyLife)
	var p *problem.Problem
	if got := w.put(1, cheap); got != KeyExpired.ID {
		t.Errorf("the PUT is answered %q", got)
	}
	if err := w.Delete(t.Context(), "t", by(1)); !errors.As(err, &p) || p.Type != KeyExpired.ID {
		t.Errorf("the DELETE is answered %v", err)
	}
	w.now = w.now.Add(-time.Hour)
	w.undo()
	w.stands("")
}

func TestOnlyTheTransactionsOwnID(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.Put(t.Context(), "another", by(1), cheap)
	if p := problem.From(err); p.Type != problem.Invalid.ID {
		t.Errorf("PUT: %v", err)
	}
	if err := w.Delete(t.Context(), "another", by(1)); err != nil || w.store.Writes() > 0 {
		t.Errorf("DELETE: %v, %d writes", err, w.store.Writes())
	}
}
