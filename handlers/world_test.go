package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate/operatetest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/quarantine/quarantinetest"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an app on ports in memory, served to itself: its steps call its own
// backends.
type world struct {
	t            testing.TB
	app          *App // after a restart, the one that runs now
	server       *httptest.Server
	client       *http.Client
	token        string // goes with every call; "" for none
	log          *syncBuffer
	producer     *hub
	checkpoints  *checkpoints
	queue        *enginetest.Queue
	transactions *workflowtest.Store
	requests     *requests
	outside      *workflowtest.Outside
	quarantine   *quarantinetest.Memory
	receiver     *receiver
	containers   map[string]*recordtest.Documents // of the business
	// undeliverable are the dead letters that no function can be given, by queue.
	undeliverable map[string][]quarantine.Received
	down          atomic.Bool  // all ports fail
	backendsDown  atomic.Bool  // the backends' own storage fails
	ahead         atomic.Int64 // how far its clock is ahead, in nanoseconds
	elsewhere     *world       // every other shard; nil for none
	ports         ports
	settings      settings.Settings
	next          int // the sequence number of the next event
}

// environment is a working one with some changes.
func environment(url string, changes ...string) func(string) string {
	const hubs = "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=azE=;UseDevelopmentEmulator=true;"
	values := map[string]string{
		"FUNCTIONS_CUSTOMHANDLER_PORT": "1", "WEBSITE_HOSTNAME": strings.TrimPrefix(url, "http://"),
		"EventHubs": hubs, "ServiceBus": hubs, "CosmosDB": "AccountEndpoint=http://127.0.0.1:1;AccountKey=azE=;",
		"FLEET_DRONES": "4", "FLEET_ZONES": "2", "ID_KEYS": "1." + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	}
	for i := 0; i < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	return func(name string) string { return values[name] }
}

// completed returns signals with what records nothing where there is none.
func completed(t testing.TB, s observe.Signals) observe.Signals {
	t.Helper()
	nowhere, err := observe.Open(observe.Config{Service: "test", Prefix: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	none, err := nowhere.Signals()
	if err = errors.Join(err, nowhere.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.Metrics = cmp.Or(s.Metrics, none.Metrics)
	if s.Tracer == nil {
		s.Tracer = none.Tracer
	}
	if s.Begin == nil {
		s.Begin = func() func(bool) { return func(bool) {} }
	}
	return s
}

func newWorld(t testing.TB, changes ...string) *world {
	t.Helper()
	return newWorldWith(t, observe.Signals{}, changes...)
}

// newWorldWith is newWorld with a place for spans and measurements.
func newWorldWith(t testing.TB, signals observe.Signals, changes ...string) *world {
	t.Helper()
	signals = completed(t, signals)
	w := &world{t: t, log: &syncBuffer{}, client: &http.Client{Transport: &http.Transport{}}, containers: map[string]*recordtest.Documents{}}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.app.ServeHTTP(rw, r) }))
	s, err := settings.Load(chosen.Business(), environment(w.server.URL, changes...))
	if err != nil {
		t.Fatal(err)
	}
	gate := &workflowtest.Gate{Decide: func(string, int) workflowtest.Fate {
		if w.down.Load() {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}}
	w.producer = &hub{down: &w.down}
	w.queue = enginetest.NewQueue(gate, w.now)
	w.transactions = workflowtest.NewStore(gate)
	w.requests = &requests{kept: map[string]ingest.RequestRecord{}, down: &w.down}
	w.outside = workflowtest.NewOutside(gate)
	w.checkpoints = &checkpoints{kept: map[string]relay.Checkpoint{}}
	w.quarantine = quarantinetest.NewMemory(gate)
	outside := &adapters{ports: ports{signals: signals}}
	if err := outside.openBackends(s, &auth.Identities{}); err != nil {
		t.Fatal(err)
	}
	w.settings = s
	told := &operatetest.Told{Store: w.transactions, Fail: func() error {
		if w.down.Load() {
			return failure.New(failure.Transient, "status", "", errors.New("connection refused"))
		}
		return nil
	}}
	w.ports = ports{
		stores: stores{
			transactions: w.transactions, listing: operatetest.Listing{Store: w.transactions}, requests: w.requests, outside: w.outside, quarantine: w.quarantine, checkpoints: w.checkpoints, maps: &shardMaps{down: &w.down}, told: told, counter: told,
			documents: w.container,
		},
		producer: w.producer, reader: w.producer, triggers: w.producer, sender: w.queue, queues: w.counts, backends: outside.backends, signals: signals, now: w.now,
		undeliverable: w.undelivered, stamp: w.stamp,
		checks: []customhandler.Check{{Name: "eventHubs", Ask: w.reach}, {Name: "serviceBus", Ask: w.reach}, {Name: "cosmosDB", Ask: w.reach}},
	}
	w.receiver = &receiver{down: &w.down, heard: map[string]string{}}
	if s.Notify.URL != "" {
		w.ports.receiver = w.receiver
	}
	if err := outside.openTold(chosen.Business(), s, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w.ports.mailer = outside.mailer
	if w.app, err = assemble(chosen.Business(), s, telemetry.NewLogger(w.log, s.LogLevel), w.ports); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.server.Close()
		w.client.CloseIdleConnections()
		if err := errors.Join(outside.close(context.Background()), w.app.Close(context.Background())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) undelivered(ctx context.Context, queue string, keep func(context.Context, quarantine.Received) error) (int, error) {
	if w.down.Load() {
		return 0, errors.New("connection refused")
	}
	kept := 0
	for ; len(w.undeliverable[queue]) > 0; kept++ {
		if err := keep(ctx, w.undeliverable[queue][0]); err != nil {
			return kept, err
		}
		w.undeliverable[queue] = w.undeliverable[queue][1:]
	}
	return kept, nil
}

// stamp opens the other shard.
func (w *world) stamp(shard.Shard) (stamp, error) {
	if w.elsewhere == nil {
		return stamp{}, errors.New("there is no other shard")
	}
	reach := func(context.Context) error {
		if w.elsewhere.down.Load() {
			return errors.New("down")
		}
		return nil
	}
	return stamp{
		stores: w.elsewhere.ports.stores, producer: w.elsewhere.producer, reachHub: reach, reachDatabase: reach,
		close: func(context.Context) error { return nil },
	}, nil
}

// container returns a container of the business.
func (w *world) container(name string) business.Documents {
	if w.containers[name] == nil {
		w.containers[name] = &recordtest.Documents{Memory: recordtest.Memory[json.RawMessage]{Before: w.fault}}
	}
	return w.containers[name]
}

func (w *world) fault(recordtest.Op, string) recordtest.Fault {
	if w.down.Load() || w.backendsDown.Load() {
		return recordtest.Fail
	}
	return recordtest.None
}

func (w *world) reach(context.Context) error {
	if w.down.Load() {
		return errors.New("connection refused")
	}
	return nil
}

// call makes an HTTP request of the app. headers are names and values.
func (w *world) call(method, path, body string, headers ...string) (*http.Response, []byte) {
	w.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, w.server.URL+path, content)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, data
}

// invoke sends an event as the host does, and returns the status.
func (w *world) invoke(function string, data, metadata map[string]any) int {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"Data": data, "Metadata": metadata})
	if err != nil {
		w.t.Fatal(err)
	}
	resp, answer := w.call(http.MethodPost, "/"+function, string(body), customhandler.InvocationHeader, "i-1")
	if resp.StatusCode == http.StatusOK && string(answer) != `{"Outputs":{},"Logs":[],"ReturnValue":null}` {
		w.t.Errorf("%s answered %s", function, answer)
	}
	return resp.StatusCode
}

// quoted encodes a value as the host does: JSON text inside a JSON string.
func quoted(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// relayAll hands events to Relay, as the next batch of one partition.
func (w *world) relayAll(bodies ...[]byte) int {
	w.t.Helper()
	first := w.next
	w.next += len(bodies)
	return w.relayFrom(first, bodies...)
}

// relayFrom hands a batch to Relay that begins with that sequence number.
func (w *world) relayFrom(first int, bodies ...[]byte) int {
	w.t.Helper()
	var encoded, offsets, times []string
	var sequence []int
	properties := []map[string]string{}
	for i, body := range bodies {
		encoded = append(encoded, base64.StdEncoding.EncodeToString(body))
		offsets, sequence = append(offsets, "0"), append(sequence, first+i)
		times = append(times, "2026-05-04T09:00:00.12")
		property := map[string]string{"k": "v"}
		if e, err := engine.Decode(body); err == nil && e.TraceParent != "" {
			property["traceparent"] = e.TraceParent // as the producer sends it
		}
		properties = append(properties, property)
	}
	return w.invoke("Relay", map[string]any{"events": quoted(encoded)}, map[string]any{
		"PartitionContext":    map[string]any{"EventHubName": "requests", "ConsumerGroup": "relay", "PartitionId": "3"},
		"SequenceNumberArray": quoted(sequence), "OffsetArray": quoted(offsets),
		"EnqueuedTimeUtcArray": quoted(times), "PropertiesArray": quoted(properties),
	})
}

// deliver hands a message to the function of its queue.
func (w *world) deliver(function string, id string, body []byte, properties map[string]any) int {
	w.t.Helper()
	return w.invoke(function, map[string]any{"message": base64.StdEncoding.EncodeToString(body)}, map[string]any{
		"MessageId": quoted(id), "SequenceNumber": "7", "DeliveryCount": "1", "ApplicationProperties": properties,
	})
}

// work delivers what can be received until nothing can.
func (w *world) work() {
	w.t.Helper()
	functions := map[string]string{"transactions": "Schedule", "compensations": "Supervise", "notifications": "Notify"}
	for range 50 {
		ready := w.queue.Receivable()
		if len(ready) == 0 {
			return
		}
		for _, m := range ready {
			m.Lock()
			if status := w.deliver(functions[m.Queue], m.MessageID, m.Body, map[string]any{"traceparent": m.TraceParent}); status != http.StatusOK {
				w.t.Fatalf("%s answered %d to %s:\n%s", functions[m.Queue], status, m.Body, w.log)
			}
			m.Complete()
		}
	}
	w.t.Fatal("the queues don't get empty")
}

// decode reads JSON that must be readable.
func decode(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}
