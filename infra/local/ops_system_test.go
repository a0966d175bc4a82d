package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// begun is when the tests began.
var begun = time.Now()

// served is a running system whose packages can be made to refuse their undo.
type served struct {
	t       *testing.T
	system  *system.System
	url     string
	refuses atomic.Bool
	faults  *fault.Injector
}

func serveForOps(t *testing.T, shards int) *served {
	t.Helper()
	s := &served{t: t, faults: fault.New()}
	// The packages, behind a proxy that finds the app once it is served.
	packages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && s.refuses.Load() {
			problem.Write(w, r, problem.Problem{Type: "shipped", Title: "It can't be taken back", Status: http.StatusForbidden, Detail: "it is on its way"})
			return
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: s.system.Endpoints().HTTP, Path: "/api"})
		}}).ServeHTTP(w, r)
	}))
	t.Cleanup(packages.Close)
	started, err := system.Start(t.Context(), system.Config{
		App: app, Addresses: system.Addresses{HTTP: "127.0.0.1:0", AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}, Shards: shards, Mapped: shards,
		Settings: map[string]string{"BACKEND_PACKAGE_URL": packages.URL, "FLIGHT_TIME_SCALE": "0.001"},
		Faults:   s.faults, Admin: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler), HandlerLog: func(string, bool) {}, Notice: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.system, s.url = started, "http://"+started.Endpoints().HTTP
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := workload.Prepare(t.Context(), workload.ClientOptions{URL: s.url}, chosentrial.Trial().Before); err != nil {
		t.Fatal(err)
	}
	return s
}

// ops carries out a call of the command against the system.
func (s *served) ops(exit int, args ...string) string {
	s.t.Helper()
	got, out, errOut := opsRun(s.t, append(args, "-url", s.url)...)
	if got != exit {
		s.t.Fatalf("ops %q: exit %d, want %d\n%s%s", args, got, exit, out, errOut)
	}
	return out + errOut
}

// request is a delivery of that weight, as a client asks for it.
func (s *served) request(weight float64, id string) json.RawMessage {
	at := begun.Add(time.Hour).UTC() // a repeat is the same
	return json.RawMessage(fmt.Sprintf(`{"ownerId":"owner-1","pickup":{"latitude":47.6,"longitude":-122.3},"dropOff":{"latitude":47.62,"longitude":-122.31},
		"pickupTime":%q,"deliverBy":%q,"expedited":false,"confirmationRequired":"None","packageInfo":{"packageId":"package-%s","size":"Small","weightKg":%v,"tag":"books"}}`,
		at.Format(time.RFC3339), at.Add(5*time.Hour).Format(time.RFC3339), id, weight))
}

// putTooHeavy asks for a delivery that no drone can carry.
func (s *served) putTooHeavy(id string) {
	s.t.Helper()
	s.put(id, 90)
}

// put asks for a delivery of that weight.
func (s *served) put(id string, weight float64) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, s.url+"/api/deliveryrequests/"+id, strings.NewReader(string(s.request(weight, id))))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusAccepted {
		s.t.Fatalf("put %s: %d %s, %v", id, resp.StatusCode, body, err)
	}
}

// await asks until the output has all of the texts.
func (s *served) await(texts []string, args ...string) string {
	s.t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, out, errOut := opsRun(s.t, append(args, "-url", s.url)...)
		missing := ""
		for _, text := range texts {
			if !strings.Contains(out, text) {
				missing = text
			}
		}
		if missing == "" {
			return out
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatalf("ops %q: waited in vain for %q:\n%s%s", args, missing, out, errOut)
		}
	}
}

// Ensure that operators find what is Stuck, and can end it in both ways.
func TestOpsOfStuckTransactions(t *testing.T) {
	s := serveForOps(t, 1)
	s.refuses.Store(true)
	s.putTooHeavy("first")
	s.putTooHeavy("second")
	s.await([]string{"first ", "second ", "Stuck", "it is on its way"}, "list")

	shown := s.ops(exitOK, "show", "first")
	for _, want := range []string{
		"transaction first is Stuck (failed)", "operation ", "(start) was accepted", "Running (Start)", "step drone failed", "Compensating (Compensate)",
		"undo of step package failed, attempt 1: 403 shipped", "DELETE packages/package-first of backend package, with Transaction-Id: first, Revision: 1, Operation-Id: ",
		"it waits for an operator", "ops retry first -why", "ops giveup first -why",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}

	s.refuses.Store(false)
	if out := s.ops(exitOK, "retry", "first", "-why", "the packages are repaired", "-by", "ada"); !strings.Contains(out, "transaction first is Compensating") {
		t.Errorf("retry: %s", out)
	}
	shown = s.await([]string{"transaction first is Compensated"}, "show", "first")
	for _, want := range []string{"Compensating (RetryUndo): the packages are repaired [by ada]", "step package was undone", "its document expires"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if out := s.ops(exitOK, "giveup", "second", "-why", "sent a courier", "-by", "ada"); !strings.Contains(out, "second is GivenUp") {
		t.Errorf("give up: %s", out)
	}
	if shown := s.ops(exitOK, "show", "second"); !strings.Contains(shown, "GivenUp (GiveUp): sent a courier [by ada]") || !strings.Contains(shown, "left to be undone") {
		t.Errorf("shown\n%s", shown)
	}
	if out := s.ops(exitError, "retry", "second", "-why", "x", "-by", "ada"); !strings.Contains(out, "only a transaction that is Stuck") {
		t.Errorf("retry of what was given up: %s", out)
	}
	if out := s.ops(exitOK, "list"); out != "no transaction is Stuck\n" {
		t.Errorf("left: %s", out)
	}
	var story operate.Story
	if err := json.Unmarshal([]byte(s.ops(exitOK, "show", "second", "-json")), &story); err != nil || story.Transaction.Reason != "sent a courier" {
		t.Errorf("story %+v, %v", story, err)
	}
}

// keep puts a dead letter of a delivery into quarantine of which the
// transaction knows nothing, as it is when all was lost but the dead letter.
func (s *served) keep(id string) quarantine.Entry {
	s.t.Helper()
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.system.Endpoints().CosmosDB}, cosmosdb.Options{Database: s.system.AppSettings().Database})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	entries := cosmosdb.NewQuarantine(db)
	body, err := engine.Envelope{TransactionID: id, OperationID: "operation-1", Operation: "start", AcceptedAt: time.Now(), Body: s.request(1, id)}.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	e := quarantine.Entry{
		Source: quarantine.DeadLetterSource("transactions"), SequenceNumber: 1 << 60, Reason: "MaxDeliveryCountExceeded", State: quarantine.Kept,
		TransactionID: id, MessageID: "operation-1", At: time.Now().UTC(), TTL: 3600,
	}
	e.SetBody(body)
	e.ID = quarantine.EntryID(e)
	if err := entries.Put(context.Background(), e); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// Ensure that operators can decide about what is in quarantine.
func TestOpsOfTheQuarantine(t *testing.T) {
	s := serveForOps(t, 1)
	endpoints := s.system.Endpoints()
	services, err := workload.OpenServices(workload.Target{
		EventHubs: endpoints.EventHubs, EventHub: s.system.AppSettings().EventHub,
		CosmosDB: endpoints.CosmosDB, Database: s.system.AppSettings().Database,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer services.Close()
	if err := services.Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead := s.keep("third")
	s.await([]string{"Unreadable", dead.ID}, "quarantine")
	var poison quarantine.Entry
	if err := json.Unmarshal([]byte(s.ops(exitOK, "quarantine", "-reason", "Unreadable", "-json")), &poison); err != nil {
		t.Fatal(err)
	}
	if shown := s.ops(exitOK, "quarantine", "show", poison.Source, poison.ID); !strings.Contains(shown, "is Kept") || !strings.Contains(shown, "bytes as base64:") {
		t.Errorf("shown\n%s", shown)
	}
	if out := s.ops(exitError, "quarantine", "redrive", poison.Source, poison.ID, "-why", "try"); !strings.Contains(out, "it asks for nothing: unreadable message: malformed") {
		t.Errorf("redrive of poison: %s", out)
	}
	if out := s.ops(exitOK, "quarantine", "drop", poison.Source, poison.ID, "-why", "sent by a test", "-by", "ada"); !strings.Contains(out, "is Dropped") {
		t.Errorf("drop: %s", out)
	}
	if shown := s.ops(exitOK, "quarantine", "show", poison.Source, poison.ID); !strings.Contains(shown, "drop by ada: sent by a test") {
		t.Errorf("shown\n%s", shown)
	}
	if list := s.ops(exitOK, "quarantine", "-state", "Kept"); strings.Contains(list, "Unreadable") || !strings.Contains(list, dead.ID) {
		t.Errorf("kept:\n%s", list)
	}
	if out := s.ops(exitOK, "quarantine", "redrive", dead.Source, dead.ID, "-why", "its message was lost", "-by", "ada"); !strings.Contains(out, "operation-1 was put on record of transaction third") {
		t.Errorf("redrive: %s", out)
	}
	shown := s.await([]string{"transaction third is Completed"}, "show", "third")
	for _, want := range []string{dead.ID + " was put into quarantine (MaxDeliveryCountExceeded)", "redrive of " + dead.ID + ": its message was lost: operation operation-1 was put on record of transaction third", "[by ada]", "its client can cancel or reschedule it"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if out := s.ops(exitOK, "quarantine", "redrive", dead.Source, dead.ID, "-why", "again", "-by", "ada"); !strings.Contains(out, "it was redriven before") {
		t.Errorf("redrive again: %s", out)
	}
	s.ops(exitError, "show", "nobody")
	s.ops(exitError, "quarantine", "show", "q", "q.1")
}

// partitions is what the command tells of the partitions.
func (s *served) partitions() []relay.Partition {
	s.t.Helper()
	var list []relay.Partition
	for line := range strings.Lines(s.ops(exitOK, "partitions", "-json")) {
		var p relay.Partition
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// Ensure that operators see who reads which partition, from what the host keeps.
func TestOpsOfPartitions(t *testing.T) {
	s := serveForOps(t, 1)
	s.putTooHeavy("first")
	s.await([]string{`"checkpoint":0,"handedOver":0`}, "partitions", "-json")
	var found int
	for _, p := range s.partitions() {
		if p.ConsumerGroup != "relay" || !strings.HasSuffix(p.Owner, "/Relay") || time.Since(p.RenewedAt) > time.Minute || p.Lag != 0 || p.Checkpoint != p.Last {
			t.Errorf("partition %+v", p)
		}
		if p.HandedOver != nil {
			found++
			if *p.HandedOver != p.Last || p.Reader == "" || time.Since(p.Since) > time.Minute {
				t.Errorf("partition with events %+v", p)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d partitions with events, want the one that has the request", found)
	}
}

// Ensure that a replay runs what was missed, recognises what was done, and moves no
// position.
func TestOpsReplay(t *testing.T) {
	s := serveForOps(t, 1)
	for _, id := range []string{"done", "missed"} {
		s.put(id, 2.5)
		s.await([]string{"transaction " + id + " is Completed"}, "show", id)
	}
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.system.Endpoints().CosmosDB}, cosmosdb.Options{Database: s.system.AppSettings().Database})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	transactions := cosmosdb.NewTransactions(db)
	before, _, err := transactions.Read(t.Context(), "done")
	if err != nil {
		t.Fatal(err)
	}
	// What became of the other one is lost, as if Relay had passed it over.
	if err := db.Container(cosmosdb.TransactionsContainer).Delete(t.Context(), "missed", "missed"); err != nil {
		t.Fatal(err)
	}
	partitions, replayed := s.partitions(), 0
	for _, p := range partitions {
		if p.HandedOver == nil {
			continue
		}
		out := s.ops(exitOK, "replay", "-partition", p.Partition, "-from", "0")
		if want := fmt.Sprintf("partition %s: all %d handed over again", p.Partition, *p.HandedOver+1); !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
		replayed++
		for from, want := range map[string]string{"99": "/from is in the future: the latest event of the partition has sequence number", "2099-01-01T00:00:00Z": "/from is in the future"} {
			if out := s.ops(exitError, "replay", "-partition", p.Partition, "-from", from); !strings.Contains(out, want) {
				t.Errorf("from %s: no %q in %s", from, want, out)
			}
		}
	}
	if replayed == 0 {
		t.Fatal("no partition has an event")
	}
	if out := s.ops(exitError, "replay", "-partition", "77", "-from", "0"); !strings.Contains(out, "/partition must be a partition of the hub, which has 4: 0 to 3") {
		t.Errorf("refused with %s", out)
	}
	s.await([]string{"transaction missed is Completed"}, "show", "missed")
	for i, p := range s.partitions() {
		if diff := cmp.Diff(partitions[i].HandedOver, p.HandedOver); diff != "" || p.Checkpoint < partitions[i].Checkpoint {
			t.Errorf("a position moved: %+v, before %+v", p, partitions[i])
		}
	}
	after, _, err := transactions.Read(t.Context(), "done")
	if err != nil || len(after.History) != len(before.History) || after.Saves != before.Saves {
		t.Errorf("what was done was done again: %+v, %v; before %+v", after, err, before)
	}
}
