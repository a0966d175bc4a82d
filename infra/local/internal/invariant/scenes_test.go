package invariant

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var theValid struct {
	once sync.Once
	scene
}

// inSecond is an id that was minted in the second shard.
var inSecond = mintedIn(2)

func mintedIn(n shard.Number) string {
	random := rand.NewChaCha8([32]byte{})
	key, err := shard.NewIDKey(1, random)
	if err != nil {
		panic(err)
	}
	id, err := shard.NewMinter([]shard.IDKey{key}, time.Now, random).New(shard.TransactionIDs, "", n)
	if err != nil {
		panic(err)
	}
	return id
}

// valid returns a copy of a snapshot with everything that may be in one: every
// final state, and every way to it that leaves other traces.
func valid(t testing.TB) scene {
	t.Helper()
	theValid.once.Do(func() { theValid.scene = makeValid(t) })
	return clone(theValid.scene)
}

func makeValid(t testing.TB) scene {
	t.Helper()
	w := newWorld(t)
	w.oneAfterTheOther()
	w.later()
	w.changes()
	w.later()
	w.unfinished()
	w.later()
	w.strangers()
	w.inTheAir()
	return w.collect()
}

// oneAfterTheOther has plain deliveries, with drones that fly several times, and
// those that end without one.
func (w *world) oneAfterTheOther() {
	for round := range 3 {
		for n := range 5 {
			w.deliver(fmt.Sprintf("plain-%d-%d", round, n), nil)
		}
		w.later()
	}
	w.deliver("far", func(r *delivery.Request) { r.DropOff.Latitude++ })
	again := w.deliver("twice", nil)
	w.answered(workflow.OperationStart, "twice", again, w.post(workflow.OperationStart, "twice", again, w.order("twice")))
	w.Settle()
	w.operations++ // an answer that was lost, and its request asked again under another OperationID
	older := fmt.Sprintf("op-%03d", w.operations)
	w.deliver("asked-again", nil)
	heavier := w.order("asked-again")
	heavier.PackageInfo.WeightKg++
	w.answered(workflow.OperationStart, "asked-again", older, w.post(workflow.OperationStart, "asked-again", older, heavier))
	w.Settle()
	keyed := w.deliver("keyed", nil)
	request := w.snapshot.Ledger[len(w.snapshot.Ledger)-1].Body
	w.snapshot.Requests = append(w.snapshot.Requests, ingest.RequestRecord{
		ID: "keyed", TransactionID: "keyed", OperationID: keyed, Operation: workflow.OperationStart, Shard: 2,
		Hash: workflow.Hash(workflow.OperationStart, "keyed", request), AcceptedAt: w.Clock.Now(),
	}, ingest.RequestRecord{ID: "never-answered", TransactionID: "never-answered", Operation: workflow.OperationStart})
	w.deliver(inSecond, nil)
	w.snapshot.Further = []Part{{Shard: 2, Transactions: []string{"keyed", inSecond}}}
	var lost sync.Map
	w.lost = func(r engine.Attempt) bool {
		_, before := lost.LoadOrStore(r.Call.Method+r.Call.Path, true)
		return !before
	}
	w.deliver("answers-lost", nil)
	w.deliver("heavy-and-lost", func(r *delivery.Request) { r.PackageInfo.WeightKg = 400 })
	w.lost = nil
	w.deliver("suspended", func(r *delivery.Request) { r.OwnerID = "owner-2" })
	w.deliver("nobodys", func(r *delivery.Request) { r.OwnerID = "nobody" })
	w.deliver("heavy", func(r *delivery.Request) { r.PackageInfo.WeightKg = 400 })
	w.deliver("first-owner", func(r *delivery.Request) { r.PackageInfo.PackageID = "p-shared" })
	w.deliver("taken", func(r *delivery.Request) { r.PackageInfo.PackageID = "p-shared" })
	w.accept(workflow.OperationCancel, "first-owner", nil)
	w.Settle()
	w.deliver("second-owner", func(r *delivery.Request) { r.PackageInfo.PackageID = "p-shared" })
	for i, body := range []string{"\xffnot an envelope", `{"schema":1}`} {
		e := quarantine.Entry{ID: fmt.Sprintf("hub.0.%d", i), Source: "hub.0", SequenceNumber: int64(i), Reason: quarantine.ReasonUnreadable}
		e.SetBody([]byte(body))
		w.snapshot.Quarantine = append(w.snapshot.Quarantine, e)
		w.snapshot.Poison = append(w.snapshot.Poison, BodyHash([]byte(body)))
	}
	w.inQuarantine()
}

// inQuarantine has dead letters, of an operation and of a wake, and an operation
// that ended there.
func (w *world) inQuarantine() {
	deliver := w.Operation(workflow.OperationStart, "keyed", w.Store.Get("keyed").Operations[0].ID, []byte(`{}`))
	w.operations++
	late := fmt.Sprintf("op-%03d", w.operations)
	change := json.RawMessage(`{"deliverBy":"2026-03-01T00:00:00Z"}`)
	w.answered(workflow.OperationReschedule, "plain-0-1", late, change)
	w.snapshot.Quarantine = append(w.snapshot.Quarantine,
		entryFor("deliveries.deadletter", 1, deliver),
		entryFor("compensations.deadletter", 1, engine.Envelope{TransactionID: "plain-0-0", Wake: 1}),
		entryFor("deliveries", 1, w.Operation(workflow.OperationReschedule, "plain-0-1", late, change)))
}

// strangers has operations that their transactions don't hold: of another than
// the owner, before the delivery and behind it, and one for which there is no
// room.
func (w *world) strangers() {
	w.acceptBy("eve", workflow.OperationCancel, "owned", nil)
	w.acceptBy("ada", workflow.OperationStart, "owned", w.order("owned"))
	w.Settle()
	w.acceptBy("eve", workflow.OperationCancel, "owned", nil)
	w.deliver("full", nil)
	w.later() // its cancels come too late
	for range workflow.MaxOperations + 1 {
		w.accept(workflow.OperationCancel, "full", nil)
	}
	w.Settle()
}

// entryFor is the entry of the quarantine for a message.
func entryFor(source string, number int64, m engine.Envelope) quarantine.Entry {
	body, err := m.Encode()
	if err != nil {
		panic(err)
	}
	e := quarantine.Entry{Source: source, SequenceNumber: number, Reason: "MaxDeliveryCountExceeded", TransactionID: m.TransactionID}
	e.SetBody(body)
	e.ID = quarantine.EntryID(e)
	return e
}

// changes has cancels and reschedules that come in time, too late, too early and
// out of order.
func (w *world) changes() {
	w.accept(workflow.OperationCancel, "cancelled-first", nil)
	w.deliver("cancelled-first", nil)
	w.deliver("cancelled", nil)
	cancelled := w.accept(workflow.OperationCancel, "cancelled", nil)
	w.accept(workflow.OperationCancel, "cancelled", nil)
	w.Settle()
	w.snapshot.Requests = append(w.snapshot.Requests, ingest.RequestRecord{
		ID: ingest.KeyPrefix + "of-cancelled", TransactionID: "cancelled", OperationID: cancelled, Operation: workflow.OperationCancel,
		Hash: workflow.Hash(workflow.OperationCancel, "cancelled", nil), AcceptedAt: w.Clock.Now(),
	})
	w.deliver("moved", nil)
	moved := w.accept(workflow.OperationReschedule, "moved", delivery.Change{DropOff: &delivery.Location{Latitude: 47.63, Longitude: -122.3}})
	w.Settle()
	request := w.snapshot.Ledger[len(w.snapshot.Ledger)-1].Body
	w.snapshot.Requests = append(w.snapshot.Requests, ingest.RequestRecord{
		ID: ingest.KeyPrefix + "of-moved", TransactionID: "moved", OperationID: moved, Operation: workflow.OperationReschedule,
		Hash: workflow.Hash(workflow.OperationReschedule, "moved", request), AcceptedAt: w.Clock.Now(),
	})
	w.accept(workflow.OperationReschedule, "moved", delivery.Change{PickupTime: new(w.Clock.Now().Add(time.Hour))})
	w.Settle()
	w.deliver("overtaken", nil)
	w.operations++ // an older one that comes late
	late := fmt.Sprintf("op-%03d", w.operations)
	w.accept(workflow.OperationReschedule, "overtaken", delivery.Change{DropOff: &delivery.Location{Latitude: 47.61, Longitude: -122.3}})
	w.Settle()
	change := delivery.Change{DropOff: &delivery.Location{Latitude: 47.64, Longitude: -122.3}}
	w.answered(workflow.OperationReschedule, "overtaken", late, w.post(workflow.OperationReschedule, "overtaken", late, change))
	w.Settle()
	w.deliver("refused-change", nil)
	w.accept(workflow.OperationReschedule, "refused-change", delivery.Change{DeliverBy: new(w.Clock.Now().Add(-time.Hour))})
	w.Settle()
	w.deliver("put-back", nil)
	w.answer = func(r engine.Attempt) int {
		if r.TransactionID == "put-back" && r.Revision == 2 && r.Call.Backend == delivery.StepDelivery {
			return http.StatusConflict
		}
		return 0
	}
	w.accept(workflow.OperationReschedule, "put-back", change)
	w.Settle()
	w.answer = nil
	w.left(change)
}

// left has changes that a service refuses, and then refuses to put back: at the
// drone, and before it; one that is changed once more; and one whose change took
// effect without an answer.
func (w *world) left(change delivery.Change) {
	w.answer = func(r engine.Attempt) int {
		if r.Revision == 2 && r.Call.Backend == delivery.StepDelivery || r.Revision == 3 && r.Call.Backend == delivery.StepDrone ||
			r.Revision == 3 && r.TransactionID == "left-before" {
			return http.StatusConflict
		}
		return 0
	}
	w.lost = func(r engine.Attempt) bool {
		return r.TransactionID == "left-unknown" && r.Revision == 2 && r.Call.Backend == delivery.StepDrone
	}
	for _, id := range []string{"left", "left-before", "left-and-changed", "left-unknown"} {
		w.deliver(id, nil)
		w.accept(workflow.OperationReschedule, id, change)
		w.Settle()
		if id == "left-and-changed" {
			w.accept(workflow.OperationReschedule, id, delivery.Change{DeliverBy: new(w.Clock.Now().Add(10 * time.Hour))})
			w.Settle()
		}
	}
	w.answer, w.lost = nil, nil
}

// unfinished has transactions whose undo is refused for good, and what operators
// do about it.
func (w *world) unfinished() {
	ids := []string{"stuck", "given-up", "retried"}
	refuse := true
	w.answer = func(r engine.Attempt) int {
		if refuse && r.Undo && slices.Contains(ids, r.TransactionID) {
			return http.StatusForbidden
		}
		return 0
	}
	for _, id := range ids {
		w.snapshot.UndoRefused[id] = true
		w.deliver(id, nil)
		w.accept(workflow.OperationCancel, id, nil)
		w.Settle()
	}
	refuse = false
	w.change("given-up", func(p *workflow.Progress) error {
		return p.GiveUp("operator@fabrikam.example", "fetched by hand", w.Clock.Now(), w.Engine.Budgets.Limits())
	})
	w.change("retried", func(p *workflow.Progress) error {
		err := p.RetryUndo("operator@fabrikam.example", "the service is mended", w.Clock.Now())
		p.RaiseWake(w.Clock.Now())
		return err
	})
	w.Settle()
}

func (w *world) change(id string, act func(*workflow.Progress) error) {
	w.tb.Helper()
	err := w.Store.Change(id, func(p *workflow.Progress) {
		if err := act(p); err != nil {
			w.tb.Fatal(err)
		}
	})
	if err != nil {
		w.tb.Fatal(err)
	}
}

// inTheAir has drones that are busy now, one of them for a transaction that no
// client knows of.
func (w *world) inTheAir() {
	for n := range 3 {
		w.deliver(fmt.Sprintf("flying-%d", n), nil)
	}
	w.post(workflow.OperationStart, "unanswered", "op-unanswered", w.order("unanswered"))
	w.Settle()
}
