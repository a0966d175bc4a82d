package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// trial is a running system with this handler, and what its clients know.
type trial struct {
	*testing.T
	*system.System
	ledger []invariant.LedgerEntry
	poison []string

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes the log.
func (r *trial) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(line)
}

// start stages the handler and runs it. The service of the deliveries is reached
// through a proxy that fails for packages whose name says so.
func start(t *testing.T) *trial {
	t.Helper()
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(t.TempDir(), "app")
	options := stage.Options{Project: project, Out: app, Target: stage.Local, Handler: filepath.Join("infra", "local", "internal", "reference")}
	if err := stage.Stage(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	r := &trial{T: t}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || bytes.Contains(body, []byte(`"packageId":"unlucky`)) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.Endpoints().HTTP}).ServeHTTP(w, req)
	}))
	t.Cleanup(proxy.Close)
	r.System, err = system.Start(t.Context(), system.Config{
		App: app, Addresses: system.Addresses{HTTP: "127.0.0.1:0", AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"},
		Settings:   map[string]string{"FLIGHT_TIME_SCALE": "0.0005", "BACKEND_DELIVERY_URL": proxy.URL + "/api"},
		Logger:     slog.New(slog.NewTextHandler(r, nil)),
		HandlerLog: func(line string, _ bool) { fmt.Fprintln(r, line) }, Notice: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", r.log.Bytes())
		}
	})
	if err := workload.Seed(t.Context(), "http://"+r.Endpoints().HTTP); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *trial) call(method, path, body string) (int, []byte) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, "http://"+r.Endpoints().HTTP+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return resp.StatusCode, answer
}

// accept makes a request that is accepted, notes it, and returns the
// TransactionID.
func (r *trial) accept(kind workflow.OperationKind, method, path, body string) string {
	r.Helper()
	status, answer := r.call(method, "/api/deliveryrequests"+path, body)
	e := invariant.LedgerEntry{Kind: kind, Body: json.RawMessage(body), AcceptedAt: time.Now()}
	if err := json.Unmarshal(answer, &e); err != nil || status != http.StatusAccepted {
		r.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	r.ledger = append(r.ledger, e)
	return e.TransactionID
}

func order(owner, packageID string, kg float64) string {
	pickup := time.Now().UTC()
	return fmt.Sprintf(`{"ownerId":%q,"pickup":{"latitude":47.6,"longitude":-122.3},"dropOff":{"latitude":47.62,"longitude":-122.31},
		"pickupTime":%q,"deliverBy":%q,"packageInfo":{"packageId":%q,"size":"Small","weightKg":%g}}`,
		owner, pickup.Format(time.RFC3339), pickup.Add(time.Hour).Format(time.RFC3339), packageID, kg)
}

// settled collects until the stored outcomes and the dead letters are as many as
// told.
func (r *trial) settled(outcomes, deadLetters int) invariant.Report {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	e, app := r.Endpoints(), r.AppSettings()
	for {
		s, err := invariant.Collect(ctx, invariant.Source{
			CosmosDB: e.CosmosDB, Database: app.Database, ServiceBus: e.ServiceBus,
			Queues: []string{app.DeliveriesQueue, app.CompensationsQueue},
		})
		if err != nil {
			r.Fatal(err)
		}
		if len(s.Transactions) == outcomes && s.Queues[0].DeadLetters == deadLetters && s.Queues[0].Active == 0 {
			s.Ledger, s.Poison = r.ledger, r.poison
			return invariant.Check(s)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.Fatalf("%d outcomes and %+v, want %d and %d dead letters", len(s.Transactions), s.Queues, outcomes, deadLetters)
		}
	}
}

func (r *trial) text(report invariant.Report) string {
	var b strings.Builder
	if err := report.WriteText(&b); err != nil {
		r.Fatal(err)
	}
	return b.String()
}

// Ensure the handler does its work as long as nothing goes wrong, and that the
// checks find what it loses, and leaves half done, when something does.
func TestReference(t *testing.T) {
	r := start(t)
	plain := r.accept(workflow.OperationDeliver, http.MethodPost, "", order("owner-1", "p-1", 1.5))
	r.accept(workflow.OperationDeliver, http.MethodPut, "/mine", order("owner-2", "p-2", 1.5))
	suspended := r.accept(workflow.OperationDeliver, http.MethodPost, "", order("owner-13", "p-3", 1.5))
	if status, answer := r.call(http.MethodPost, "/api/deliveryrequests", `{"ownerId":"owner-1"}`); status != http.StatusBadRequest {
		t.Errorf("a malformed request: %d %s", status, answer)
	}
	report := r.settled(3, 0)
	if !report.OK() || !maps.Equal(report.States, map[workflow.State]int{workflow.Completed: 2, workflow.Rejected: 1}) {
		t.Errorf("nothing went wrong:\n%s", r.text(report))
	}
	for id, want := range map[string]string{plain: `"state":"Completed"`, "mine": `"state":"Completed"`, suspended: `"reason":"account: account owner-13 is suspended"`} {
		if status, answer := r.call(http.MethodGet, "/api/deliveryrequests/"+id, ""); status != http.StatusOK || !bytes.Contains(answer, []byte(want)) {
			t.Errorf("%s: %d %s", id, status, answer)
		}
	}

	unlucky := r.accept(workflow.OperationDeliver, http.MethodPost, "", order("owner-1", "unlucky", 1.5))
	heavy := r.accept(workflow.OperationDeliver, http.MethodPost, "", order("owner-1", "p-heavy", 400))
	r.accept(workflow.OperationCancel, http.MethodDelete, "/mine", "")
	r.accept(workflow.OperationReschedule, http.MethodPatch, "/mine", `{"dropOff":{"latitude":47.63,"longitude":-122.32}}`)
	r.putPoison()
	report = r.settled(4, 3) // of the unlucky one, the cancel and the reschedule
	for _, want := range []struct{ rule, what, id string }{
		{"accepted", "lost", unlucky}, {"owned", "orphan", unlucky},
		{"undone", "half done", heavy},
		{"operations", "operation lost", "mine"},
		{"quarantine", "poison lost", r.poison[0]},
		{"deadletters", "dead letters", "deliveries"},
	} {
		at := slices.IndexFunc(report.Invariants, func(i invariant.Invariant) bool { return i.Name == want.rule })
		if !slices.ContainsFunc(report.Invariants[at].Violations, func(v invariant.Violation) bool { return v.ID == want.id && v.What == want.what }) {
			t.Errorf("%s does not find %s of %s", want.rule, want.what, want.id)
		}
	}
	if t.Failed() {
		t.Log(r.text(report))
	}
}

// putPoison puts an unreadable event on the hub.
func (r *trial) putPoison() {
	r.Helper()
	e, app := r.Endpoints(), r.AppSettings()
	services, err := workload.OpenServices(workload.Target{EventHubs: e.EventHubs, EventHub: app.EventHub, CosmosDB: e.CosmosDB, Database: app.Database})
	if err != nil {
		r.Fatal(err)
	}
	defer services.Close()
	body := []byte("not an envelope")
	if err := services.Put(r.Context(), body); err != nil {
		r.Fatal(err)
	}
	r.poison = append(r.poison, invariant.BodyHash(body))
}

func TestAttempts(t *testing.T) {
	for text, want := range map[string]int{"": 1, "1": 1, "4": 4, "0": 0, "5": 0, "x": 0} {
		if got, err := attemptsOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
