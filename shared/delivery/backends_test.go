package delivery_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/delivery/transportation"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// services is the definition with the real backends behind the real client.
type services struct {
	t        *testing.T
	def      workflow.Definition
	client   *backendclient.Client
	accounts *account.Service
	packages *recordtest.Memory[record.Record[parcel.Content]]
	bookings *recordtest.Memory[record.Record[transportation.Booking]]
	flights  *recordtest.Memory[record.Record[drone.Assignment]]
	done     *recordtest.Memory[record.Record[deliveries.Content]]
	in       workflow.Input
}

const request = `{"ownerId":"owner-1","pickup":{"latitude":47.6,"longitude":-122.3},"dropOff":{"latitude":47.7,"longitude":-122.1,"altitude":5},
	"pickupTime":"2026-01-31T17:00:00Z","deliverBy":"2026-01-31T19:00:00Z","confirmationRequired":"Voice",
	"packageInfo":{"packageId":"p-1","size":"Small","weightKg":1.5,"tag":"x"}}`

func newServices(t *testing.T) *services {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC) }
	b := &services{
		t: t, def: delivery.Steps(),
		accounts: account.New(&recordtest.Memory[account.Account]{}, now),
		packages: &recordtest.Memory[record.Record[parcel.Content]]{},
		bookings: &recordtest.Memory[record.Record[transportation.Booking]]{},
		flights:  &recordtest.Memory[record.Record[drone.Assignment]]{},
		done:     &recordtest.Memory[record.Record[deliveries.Content]]{},
	}
	drones := drone.New(drone.Defaults(), b.flights, drone.Over(&recordtest.Documents{}), now)
	router, log := mux.NewRouter(), slog.New(slog.DiscardHandler)
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as the app does
		problem.Write(w, r, *problem.New(problem.NotFound, ""))
	})
	api := router.PathPrefix("/api").Subrouter()
	recordtest.Mount(api, log, slices.Concat(b.accounts.Endpoints(), drones.AssignmentEndpoints(), drones.DroneEndpoints(),
		parcel.New(record.Keeper[parcel.Content]{Store: b.packages, Now: now}).Endpoints(),
		transportation.New(record.Keeper[transportation.Booking]{Store: b.bookings, Now: now}, 40).Endpoints(),
		deliveries.New(record.Keeper[deliveries.Content]{Store: b.done, Now: now}).Endpoints()))
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	addresses := map[string]string{}
	for _, step := range b.def.Steps {
		addresses[step.Name] = server.URL + "/api"
	}
	var err error
	if b.client, err = backendclient.New(backendclient.Config{Backends: addresses, CallTimeout: 10 * time.Second}, now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	parsed, err := delivery.Parse([]byte(request), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := parsed.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	b.in = workflow.Input{TransactionID: "t-1", Revision: 1, Request: canonical, Results: map[string]json.RawMessage{}}
	return b
}

func (b *services) account(status string) {
	b.t.Helper()
	if _, err := b.accounts.Put(b.t.Context(), account.Account{ID: "owner-1", Status: status}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *services) do(call workflow.Call) workflow.Outcome {
	return b.client.Do(b.t.Context(), engine.Attempt{
		TransactionID: b.in.TransactionID, OperationID: "op", Revision: b.in.Revision, Call: call,
	})
}

// run makes the calls of the steps that due tells, and keeps their results.
func (b *services) run(due func(workflow.Step) bool) {
	b.t.Helper()
	for _, step := range b.def.Steps {
		if !due(step) {
			continue
		}
		o := b.do(step.Call(b.in))
		if o.Retry != workflow.RetryNone || o.Effect != workflow.EffectYes {
			b.t.Fatalf("%s: %+v", step.Name, o)
		}
		b.in.Results[step.Name] = o.Result
	}
}

func all(workflow.Step) bool { return true }

func changes[T any](t *testing.T, store *recordtest.Memory[record.Record[T]]) []record.Change {
	t.Helper()
	docs, err := store.All()
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Change
	for _, rec := range docs {
		for _, e := range rec.Journal {
			out = append(out, e.Change)
		}
	}
	return out
}

func (b *services) wantJournals(packages, bookings, flights, done []record.Change) {
	b.t.Helper()
	for name, pair := range map[string][2][]record.Change{
		"package": {changes(b.t, b.packages), packages}, "booking": {changes(b.t, b.bookings), bookings},
		"flight": {changes(b.t, b.flights), flights}, "delivery": {changes(b.t, b.done), done},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			b.t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}

func TestTheBackendsServeTheDefinition(t *testing.T) {
	b := newServices(t)
	b.account(account.Active)
	created, changed, deleted := record.Created, record.Changed, record.Deleted
	b.run(all)
	b.run(all) // a repeat
	b.wantJournals([]record.Change{created}, []record.Change{created}, []record.Change{created}, []record.Change{created})
	pickup := b.def.ChangeableUntil(b.in)
	if want := time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC); !pickup.Equal(want) {
		t.Errorf("changeable until %v, want %v", pickup, want)
	}

	merged, err := b.def.Merge(b.in.Request, json.RawMessage(`{"pickupTime":"2026-01-31T18:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	before := b.in.Request
	b.in.Request, b.in.Revision = merged, 2
	b.run(func(s workflow.Step) bool { return s.Affected != nil && s.Affected(before, merged) })
	b.wantJournals([]record.Change{created}, []record.Change{created}, []record.Change{created, changed}, []record.Change{created, changed})
	if moved := b.def.ChangeableUntil(b.in); moved.Sub(pickup) != time.Hour {
		t.Errorf("changeable until %v", moved)
	}

	for range 2 {
		for _, step := range slices.Backward(b.def.Steps) {
			if step.Undo == nil {
				continue
			}
			if o := b.do(step.Undo(b.in)); o.Retry != workflow.RetryNone {
				t.Errorf("undo %s: %+v", step.Name, o)
			}
			if o := b.do(step.Call(b.in)); o.Retry != workflow.RetryNever || o.Effect != workflow.EffectNo || o.Type != "gone" {
				t.Errorf("late %s: %+v", step.Name, o)
			}
		}
	}
	b.wantJournals([]record.Change{created, deleted}, []record.Change{created, deleted},
		[]record.Change{created, changed, deleted}, []record.Change{created, changed, deleted})
}

func TestTheAccountDecides(t *testing.T) {
	b := newServices(t)
	step := b.def.Steps[0]
	if o := b.do(step.Call(b.in)); o.Retry != workflow.RetryNever || o.Effect != workflow.EffectNo || o.Type != "not-found" {
		t.Errorf("unknown: %+v", o)
	}
	b.account(account.Suspended)
	o := b.do(step.Call(b.in))
	if err := step.Accept(o.Result); o.Retry != workflow.RetryNone || err == nil {
		t.Errorf("suspended: %+v, %v", o, err)
	}
	b.account(account.Active)
	o = b.do(step.Call(b.in))
	if err := step.Accept(o.Result); o.Retry != workflow.RetryNone || err != nil {
		t.Errorf("active: %+v, %v", o, err)
	}
}

func TestADroneDecides(t *testing.T) {
	b := newServices(t)
	b.account(account.Active)
	heavy, err := delivery.Parse([]byte(request), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	heavy.PackageInfo.WeightKg = 500
	if b.in.Request, err = heavy.Canonical(); err != nil {
		t.Fatal(err)
	}
	for _, step := range b.def.Steps {
		if step.Name != delivery.StepDrone {
			continue
		}
		if o := b.do(step.Call(b.in)); o.Retry != workflow.RetryNever || o.Effect != workflow.EffectNo || o.Type != "too-heavy" {
			t.Errorf("got %+v", o)
		}
	}
}

// A request that got past Parse by accident is refused by the first backend
// that sees it, and has no effect.
func TestAnUnreadableRequestIsRejected(t *testing.T) {
	b := newServices(t)
	b.in.Request = json.RawMessage(`?`)
	for _, step := range b.def.Steps {
		if o := b.do(step.Call(b.in)); o.Retry != workflow.RetryNever || o.Effect != workflow.EffectNo {
			t.Errorf("%s: %+v", step.Name, o)
		}
	}
}
