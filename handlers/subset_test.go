package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// TestSettingsKnowEveryFunction holds the functions that settings knows to the
// table.
func TestSettingsKnowEveryFunction(t *testing.T) {
	var names []string
	for _, f := range newWorld(t).app.functions {
		names = append(names, f.name)
	}
	slices.Sort(names)
	if known := settings.FunctionNames(chosen.Business()); !slices.Equal(known, names) {
		t.Errorf("settings knows %v, the table has %v", known, names)
	}
}

// TestBackendsAlone starts the real handler as the app of the backends: it has
// no connection but Cosmos DB's.
func TestBackendsAlone(t *testing.T) {
	s, err := settings.Load(chosen.Business(), environment("http://127.0.0.1:1", "EventHubs", "", "ServiceBus", "",
		"AzureFunctionsJobHost__functions__0", "Accounts", "AzureFunctionsJobHost__functions__1", "Ready"))
	if err != nil {
		t.Fatal(err)
	}
	app, err := New(chosen.Business(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	asked, state := app.readiness.Ask(t.Context()) // nobody listens
	if _, only := asked["cosmosDB"]; !only || len(asked) != 1 || state != customhandler.Unready {
		t.Errorf("Ready asks %v", asked)
	}
	for path, want := range map[string]int{"/api/deliveryrequests": http.StatusNotFound, "/Relay": http.StatusNotFound} {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	app.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/account/a", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("Accounts does not answer: %d", w.Code)
	}
}

// An instance that runs nothing but Operations tells of the others.
func TestStatusOfAnInstanceWithOperationsAlone(t *testing.T) {
	w := newWorld(t)
	s, err := settings.Load(chosen.Business(), environment(w.server.URL, "AzureFunctionsJobHost__functions__0", "Operations"))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := assemble(chosen.Business(), s, slog.New(slog.DiscardHandler), w.ports)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := alone.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	now := w.now()
	if err := w.ports.told.Report(t.Context(), operate.Report{Instance: "other", At: now, Breakers: map[string]time.Time{"Packages": now}}); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	alone.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, routePrefix+"/operations/status", nil))
	var status operate.Status
	if err := json.Unmarshal(answer.Body.Bytes(), &status); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	if len(status.Breakers) != 1 || status.Breakers[0].Backend != "Packages" {
		t.Errorf("%+v", status)
	}
	if asked, state := alone.readiness.Ask(t.Context()); state != customhandler.Degraded || asked["status"] != "failed" {
		t.Errorf("Ready: %s %v", state, asked)
	}
}
