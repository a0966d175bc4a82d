package stock

import (
	"errors"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// world is a service whose stores count their operations together. At the one with
// the number at, happens is called, once.
type world struct {
	*Service
	t            *testing.T
	items        *recordtest.Memory[Item]
	reservations *recordtest.Memory[record.Record[Reservation]]
	ops, at      int
	happens      func() recordtest.Fault
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, at: -1}
	before := func(recordtest.Op, string) recordtest.Fault {
		w.ops++
		if w.ops-1 == w.at {
			return w.happens()
		}
		return recordtest.None
	}
	w.items = &recordtest.Memory[Item]{Before: before}
	w.reservations = &recordtest.Memory[record.Record[Reservation]]{Before: before}
	w.Service = &Service{Items: w.items, Keeper: record.Keeper[Reservation]{Store: w.reservations, Now: time.Now}}
	if _, err := w.PutItem(t.Context(), Item{ID: "i", Total: 10, PriceCents: 5}); err != nil {
		t.Fatal(err)
	}
	w.ops = 0
	return w
}

func by(transactionID string, revision int) record.By {
	return record.By{TransactionID: transactionID, Revision: revision}
}

// put repeats a PUT until it is answered for good, and returns the type of the
// refusal, "" if there is none.
func (w *world) put(transactionID string, revision, quantity int) string {
	w.t.Helper()
	for range 4 {
		_, _, err := w.Put(w.t.Context(), "i", transactionID, by(transactionID, revision), Ask{quantity})
		var p *problem.Problem
		if err == nil {
			return ""
		} else if errors.As(err, &p) {
			return p.Type
		}
	}
	w.t.Fatal("no end to the failures")
	return ""
}

func (w *world) undo(transactionID string) {
	w.t.Helper()
	for range 4 {
		if w.Delete(w.t.Context(), "i", transactionID, by(transactionID, 1)) == nil {
			return
		}
	}
	w.t.Fatal("no end to the failures")
}

// holds checks that a transaction has so many, by its reservation and by the item.
func (w *world) holds(transactionID string, want int) {
	w.t.Helper()
	items, err1 := w.items.All()
	reservations, err2 := w.reservations.All()
	if err := errors.Join(err1, err2); err != nil {
		w.t.Fatal(err)
	}
	item, rec := items["i"], reservations[transactionID]
	reserved := 0
	if rec.Live() {
		reserved = rec.Content.Quantity
	}
	if held := item.held("") - item.held(transactionID); held != want || reserved != want {
		w.t.Errorf("%s holds %d, reserved are %d, want %d", transactionID, held, reserved, want)
	}
}

func TestNoMoreThanThereIs(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		transaction        string
		revision, quantity int
		want               string
	}{
		{"a", 1, 6, ""}, {"b", 1, 5, OutOfStock.ID}, {"b", 1, 4, ""}, {"c", 1, 1, OutOfStock.ID},
		{"a", 2, 7, OutOfStock.ID}, {"a", 3, 5, ""}, {"c", 1, 1, ""}, {"a", 2, 1, record.StaleRevision.ID},
	} {
		if got := w.put(step.transaction, step.revision, step.quantity); got != step.want {
			t.Errorf("%+v: %q", step, got)
		}
	}
	w.undo("b")
	w.holds("a", 5)
	w.holds("b", 0)
	if got := w.put("b", 2, 1); got != problem.Gone.ID {
		t.Errorf("a PUT after the undo: %q", got)
	}
	if _, err := w.PutItem(t.Context(), Item{ID: "i", Total: 5}); problem.From(err).Type != problem.Conflict.ID {
		t.Errorf("fewer than are held: %v", err)
	}
}

// Ensure that a PUT and an undo end alike, whatever fails between any two of
// their operations or comes between them.
func TestBetweenAnyOperations(t *testing.T) {
	stories := map[string]struct {
		run  func(*world)
		want int
	}{
		"put":          {func(w *world) { w.put("a", 1, 3) }, 3},
		"put and undo": {func(w *world) { w.put("a", 1, 3); w.undo("a") }, 0},
		"change":       {func(w *world) { w.put("a", 1, 3); w.put("a", 2, 4) }, 4},
	}
	fault := func(f recordtest.Fault) func(*world) recordtest.Fault {
		return func(*world) recordtest.Fault { return f }
	}
	between := map[string]struct {
		happens func(*world) recordtest.Fault
		want    func(int) int
	}{
		"fails": {fault(recordtest.Fail), func(n int) int { return n }},
		"lost":  {fault(recordtest.Lost), func(n int) int { return n }},
		"undo":  {func(w *world) recordtest.Fault { w.undo("a"); return recordtest.None }, func(int) int { return 0 }},
		"later revision": {func(w *world) recordtest.Fault { w.put("a", 9, 7); return recordtest.None }, func(n int) int {
			return min(7*n, 7)
		}},
	}
	for story, s := range stories {
		for name, b := range between {
			t.Run(story+", "+name, func(t *testing.T) {
				for at := 0; ; at++ {
					w := newWorld(t)
					w.at, w.happens = at, func() recordtest.Fault { return b.happens(w) }
					s.run(w)
					if w.ops <= at {
						return
					}
					if w.holds("a", b.want(s.want)); t.Failed() {
						t.Fatalf("at operation %d of %d", at, w.ops)
					}
				}
			})
		}
	}
}

func TestContract(t *testing.T) {
	w := newWorld(t)
	const path = "/reservations/i/t"
	recordtest.Contract(t, append(w.Endpoints(), w.ItemEndpoints()...), []recordtest.Call{
		{Name: "an item", Method: "PUT", Path: "/items/j", Body: `{"total":1,"priceCents":3}`, Status: 200, Answer: `{"id":"j","total":1}`},
		{Name: "too many of it", Method: "PUT", Path: "/items/j", Body: `{"total":201,"priceCents":3}`, Status: 400},
		{Name: "its state", Method: "GET", Path: "/items/j", Status: 200, Answer: `{"priceCents":3}`},
		{Name: "no item", Method: "PUT", Path: "/reservations/none/t", Transaction: "t", Body: `{"quantity":1}`, Status: 404, Answer: "not-found"},
		{Name: "out of stock", Method: "PUT", Path: path, Transaction: "t", Body: `{"quantity":11}`, Status: 409, Answer: "out-of-stock"},
		{Name: "create", Method: "PUT", Path: path, Transaction: "t", Body: `{"quantity":2}`, Status: 201,
			Answer: `{"id":"t","item":"i","quantity":2,"priceCents":5}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Body: `{"quantity":2}`, Status: 200, Unchanged: true},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "late", Method: "PUT", Path: path, Transaction: "t", Body: `{"quantity":2}`, Status: 410, Answer: "gone"},
		{Name: "delete of what never was", Method: "DELETE", Path: "/reservations/none/u", Transaction: "u", Status: 204},
	})
}
