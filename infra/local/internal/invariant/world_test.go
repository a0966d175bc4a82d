package invariant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// world is the system in memory: the real workflow with the real backends, so
// that its data is as it is in operation.
type world struct {
	*enginetest.World
	tb          testing.TB
	router      *mux.Router
	accounts    recordtest.Memory[account.Account]
	packages    recordtest.Memory[record.Record[parcel.Content]]
	bookings    recordtest.Memory[record.Record[transportation.Booking]]
	assignments recordtest.Memory[record.Record[drone.Assignment]]
	deliveries  recordtest.Memory[record.Record[deliveries.Content]]
	drones      drones
	// answer, when it returns a status, is the answer to a call that is not
	// made; lost calls are made and get no answer. Both are called from several
	// goroutines.
	answer func(engine.Attempt) int
	lost   func(engine.Attempt) bool

	snapshot   scene // the part that the clients know
	operations int
}

const fleet = 8

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{tb: t, router: mux.NewRouter(), snapshot: scene{Snapshot: Snapshot{Notifications: true, UndoRefused: map[string]bool{}}}}
	now := func() time.Time { return w.Clock.Now() }
	config := drone.Defaults()
	config.Drones, config.Zones = fleet, 2
	drones := drone.New(config, &w.assignments, drone.Over(&w.drones), now)
	log := slog.New(slog.DiscardHandler)
	accounts := account.New(&w.accounts, now)
	recordtest.Mount(w.router, log, accounts.Endpoints())
	recordtest.Mount(w.router, log, drones.AssignmentEndpoints())
	recordtest.Mount(w.router, log, drones.DroneEndpoints())
	const ahead = 30 * 24 * time.Hour
	packages := record.Keeper[parcel.Content]{Store: &w.packages, Now: now, Needed: record.For[parcel.Content](ahead)}
	bookings := record.Keeper[transportation.Booking]{Store: &w.bookings, Now: now, Needed: record.For[transportation.Booking](ahead)}
	recordtest.Mount(w.router, log, parcel.New(packages).Endpoints())
	recordtest.Mount(w.router, log, transportation.New(bookings, 40).Endpoints())
	recordtest.Mount(w.router, log, deliveries.New(record.Keeper[deliveries.Content]{Store: &w.deliveries, Now: now}).Endpoints())
	definition := delivery.Steps()
	w.World = enginetest.New(t, &definition, 1, func(c *engine.Config) { c.Backends, c.Budgets.Notify = w, true })
	w.Notify = func(_ context.Context, e engine.Envelope) error {
		return w.Store.Change(e.TransactionID, func(p *workflow.Progress) { p.Notified(p.Outbox.Count) })
	}
	for _, a := range []account.Account{{ID: "owner-1", Status: account.Active}, {ID: "owner-2", Status: account.Suspended}} {
		if _, err := accounts.Put(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Do implements engine.Backends on the backends' routes.
func (w *world) Do(ctx context.Context, r engine.Attempt) workflow.Outcome {
	if w.answer != nil {
		if status := w.answer(r); status != 0 {
			return outcome(status, nil)
		}
	}
	req := httptest.NewRequestWithContext(ctx, r.Call.Method, "/"+r.Call.Path, bytes.NewReader(r.Call.Body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(record.HeaderTransaction, r.TransactionID)
	req.Header.Set(record.HeaderOperation, r.OperationID)
	req.Header.Set(record.HeaderRevision, strconv.Itoa(r.Revision))
	res := httptest.NewRecorder()
	w.router.ServeHTTP(res, req)
	if w.lost != nil && w.lost(r) {
		return outcome(http.StatusGatewayTimeout, nil)
	}
	return outcome(res.Code, res.Body.Bytes())
}

func outcome(status int, body []byte) workflow.Outcome {
	o := workflow.Outcome{Status: status, Message: string(body)}
	switch {
	case status < 300:
		o.Effect, o.Result = workflow.EffectYes, body
	case status == http.StatusTooManyRequests:
		o.Retry = workflow.RetryLater
	case status < 500:
		o.Retry = workflow.RetryNever
	default:
		o.Retry, o.Effect = workflow.RetryLater, workflow.EffectMaybe
	}
	return o
}

// order is a request with its body still open to changes.
func (w *world) order(transaction string) delivery.Request {
	now := w.Clock.Now()
	return delivery.Request{
		OwnerID:    "owner-1",
		Pickup:     delivery.Location{Latitude: 47.6, Longitude: -122.3},
		DropOff:    delivery.Location{Latitude: 47.62, Longitude: -122.31},
		PickupTime: now.Add(30 * time.Minute), DeliverBy: now.Add(9 * time.Hour), ConfirmationRequired: "None",
		PackageInfo: delivery.PackageInfo{PackageID: "p-" + transaction, Size: "Small", WeightKg: 1.5, Tag: "<&>"},
	}
}

// accept puts an operation into the queue, and into the ledger.
func (w *world) accept(kind workflow.OperationKind, transaction string, body any) string {
	w.tb.Helper()
	return w.acceptBy("", kind, transaction, body)
}

func (w *world) acceptBy(caller string, kind workflow.OperationKind, transaction string, body any) string {
	w.tb.Helper()
	w.operations++
	operation := fmt.Sprintf("op-%03d", w.operations)
	w.answered(kind, transaction, operation, w.postBy(caller, kind, transaction, operation, body))
	return operation
}

func (w *world) post(kind workflow.OperationKind, transaction, operation string, body any) json.RawMessage {
	w.tb.Helper()
	return w.postBy("", kind, transaction, operation, body)
}

func (w *world) postBy(caller string, kind workflow.OperationKind, transaction, operation string, body any) json.RawMessage {
	w.tb.Helper()
	var encoded json.RawMessage
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			w.tb.Fatal(err)
		}
	}
	w.PostBy(caller, kind, transaction, operation, encoded)
	return encoded
}

func (w *world) answered(kind workflow.OperationKind, transaction, operation string, body json.RawMessage) {
	w.snapshot.Ledger = append(w.snapshot.Ledger, LedgerEntry{
		TransactionID: transaction, OperationID: operation, Kind: kind, Body: body, AcceptedAt: w.Clock.Now(),
	})
}

// deliver accepts an order, changed by with, and works on it until it rests.
func (w *world) deliver(transaction string, with func(*delivery.Request)) string {
	w.tb.Helper()
	order := w.order(transaction)
	if with != nil {
		with(&order)
	}
	operation := w.accept(workflow.OperationStart, transaction, order)
	w.Settle()
	return operation
}

// later lets all drones come home.
func (w *world) later() { w.Clock.Advance(8 * time.Hour) }

// collect returns the whole snapshot.
func (w *world) collect() scene {
	w.tb.Helper()
	s := w.snapshot
	s.Answers = map[string]workflow.State{}
	for _, p := range w.Store.All() {
		s.Transactions = append(s.Transactions, *p)
		s.Answers[p.ID] = p.State
	}
	s.Now = w.Clock.Now()
	s.Outside = w.Outside.All()
	s.Accounts = allOf(w.tb, &w.accounts)
	s.Packages = allOf(w.tb, &w.packages)
	s.Bookings = allOf(w.tb, &w.bookings)
	s.Assignments = allOf(w.tb, &w.assignments)
	s.Deliveries = allOf(w.tb, &w.deliveries)
	s.Drones = allOf(w.tb, &w.drones)
	s.Queues = []Queue{{Name: "deliveries"}, {Name: "compensations", Scheduled: 3}}
	s.Documents = slices.Concat(
		measured(cosmosdb.TransactionsContainer, s.Transactions, func(p *workflow.Progress) string { return p.ID }),
		measured(cosmosdb.RequestsContainer, s.Requests, func(r *ingest.RequestRecord) string { return r.ID }),
		measured(cosmosdb.RequestsContainer, s.Outside, func(o *workflow.OutsideOperation) string { return o.ID }),
		measured(cosmosdb.QuarantineContainer, s.Quarantine, func(e *quarantine.Entry) string { return e.ID }),
		measured(delivery.AccountsContainer, s.Accounts, func(a *account.Account) string { return a.ID }),
		measured(delivery.PackagesContainer, s.Packages, idOf),
		measured(delivery.BookingsContainer, s.Bookings, idOf),
		measured(delivery.AssignmentsContainer, s.Assignments, idOf),
		measured(delivery.DeliveriesContainer, s.Deliveries, idOf),
		measured(delivery.DronesContainer, s.Drones, func(d *drone.Drone) string { return d.ID }))
	return s
}

func idOf[T any](r *record.Record[T]) string { return r.ID }

// measured returns what documents take.
func measured[T any](container string, all []T, id func(*T) string) []Document {
	var sizes []Document
	for i := range all {
		doc, err := json.Marshal(&all[i])
		if err != nil {
			panic(err)
		}
		sizes = append(sizes, Document{Container: container, ID: id(&all[i]), Bytes: len(doc)})
	}
	return sizes
}

func allOf[T any](t testing.TB, m interface{ All() (map[string]T, error) }) []T {
	t.Helper()
	docs, err := m.All()
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for _, doc := range trial.Sorted(docs) {
		all = append(all, doc)
	}
	return all
}

// drones are the documents of the drones as values.
type drones struct{ recordtest.Documents }

// All implements what allOf asks for.
func (d *drones) All() (map[string]drone.Drone, error) {
	return recordtest.All[drone.Drone](&d.Documents)
}
