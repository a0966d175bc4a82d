package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// served are the backends of the delivery on real storage.
type served struct{ *mux.Router }

// Do implements engine.Backends.
func (s served) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	req := httptest.NewRequestWithContext(ctx, a.Call.Method, "/"+a.Call.Path, bytes.NewReader(a.Call.Body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(record.HeaderTransaction, a.TransactionID)
	req.Header.Set(record.HeaderOperation, a.OperationID)
	req.Header.Set(record.HeaderRevision, strconv.Itoa(a.Revision))
	res := httptest.NewRecorder()
	s.ServeHTTP(res, req)
	if res.Code > 299 {
		return workflow.Outcome{Retry: workflow.RetryNever, Status: res.Code, Message: res.Body.String()}
	}
	return workflow.Outcome{Effect: workflow.EffectYes, Status: res.Code, Result: res.Body.Bytes()}
}

// defaults are the business's settings as they are if nobody sets them.
func defaults(t *testing.T, b business.Business) business.Values {
	t.Helper()
	values := business.Values{}
	for _, s := range b.Settings {
		number, err := strconv.ParseFloat(s.Default, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch s.Kind {
		case business.Whole:
			values[s.Name] = int(number)
		case business.Span:
			values[s.Name] = time.Duration(number) * s.Unit
		default:
			values[s.Name] = number
		}
	}
	return values
}

// Ensure a delivery that goes well costs what docs/capacity.md counts: operations and
// request units of everything that it stores, while its customer and some free drones
// are known from the deliveries before.
func TestWhatADeliveryCosts(t *testing.T) {
	const many = 20
	var mu sync.Mutex
	operations, units := map[string]float64{}, map[string]float64{}
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: adaptersCosmos(t)}, cosmosdb.Options{
		Database: adaptersDatabase,
		Observe: func(_ context.Context, try cosmosdb.Try) {
			mu.Lock()
			defer mu.Unlock()
			operations[try.Container] += 1. / many
			units[try.Container] += try.Charge / many
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	b, log, router := delivery.Business(), slog.New(slog.DiscardHandler), mux.NewRouter()
	var w *enginetest.World
	for _, backend := range b.Backends {
		functions, err := backend.Open(business.Env{
			Documents: func(name string) business.Documents { return db.Container(name) }, Settings: defaults(t, b),
			Now: func() time.Time { return w.Clock.Now() }, Keep: 30 * 24 * time.Hour, CompleteBy: 24 * time.Hour, Logger: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, endpoints := range functions {
			recordtest.Mount(router, log, endpoints)
		}
	}
	transactions := cosmosdb.NewTransactions(db)
	w = enginetest.New(t, &b.Workflow, 1, func(c *engine.Config) { c.Backends, c.Store = served{router}, transactions })
	account := served{router}.Do(t.Context(), engine.Attempt{TransactionID: "t", Revision: 1,
		Call: workflow.Call{Method: "PUT", Path: "account/owner-1", Body: json.RawMessage(`{"name":"Ann"}`)}})
	if account.Status != 201 {
		t.Fatal(account)
	}
	for i := range many + 1 {
		if i == 1 { // the fleet is there, and so is a page of it
			mu.Lock()
			clear(operations)
			clear(units)
			mu.Unlock()
		}
		id := fmt.Sprintf("0190a6e0-6d3b-7c4e-9b1f-%012d", i)
		at := w.Clock.Now().Add(time.Hour)
		order := fmt.Sprintf(`{"ownerId":"owner-1","pickup":{"latitude":47.64,"longitude":-122.13},"dropOff":{"latitude":47.61,"longitude":-122.33},
			"pickupTime":%q,"deliverBy":%q,"expedited":false,"confirmationRequired":"FingerPrint",
			"packageInfo":{"packageId":"package-%d","size":"Small","weightKg":2.5,"tag":"fragile"}}`, at.Format(time.RFC3339), at.Add(2*time.Hour).Format(time.RFC3339), i)
		parsed, err := b.Parse(json.RawMessage(order), nil, w.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Engine.Schedule(t.Context(), w.Operation(workflow.OperationStart, id, id, parsed.Canonical)); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	counted, charged := maps.Clone(operations), maps.Clone(units)
	mu.Unlock()
	var allOperations, allUnits float64
	for name, n := range counted {
		t.Logf("%-14s %.2f operations %.2f RU", name, n, charged[name])
		allOperations, allUnits = allOperations+n, allUnits+charged[name]
	}
	t.Logf("%-14s %.2f operations %.2f RU", "together", allOperations, allUnits)
	if allOperations > 9 || allUnits > 72 {
		t.Errorf("%.2f operations and %.2f RU, want at most 9 and 72", allOperations, allUnits)
	}
	p, _, err := transactions.Read(t.Context(), fmt.Sprintf("0190a6e0-6d3b-7c4e-9b1f-%012d", many))
	if err != nil || p.State != workflow.Completed {
		t.Errorf("the last one is %+v, %v", p, err)
	}
}
