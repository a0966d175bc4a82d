package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// recorded is a world whose spans and measurements are kept.
type recorded struct {
	*world
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
}

func newRecorded(t *testing.T, changes ...string) *recorded {
	t.Helper()
	r := &recorded{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	measured, err := telemetry.NewMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)).Meter(telemetry.Scope), chosen.Business().Metrics())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.world = newWorldWith(t, observe.Signals{Tracer: provider.Tracer(telemetry.Scope), Metrics: measured}, changes...)
	return r
}

// clientTrace is the trace of a client that has one.
const clientTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

type span = sdktrace.ReadOnlySpan

// inTrace returns the ended spans of a trace.
func (r *recorded) inTrace(id trace.TraceID) []span {
	return slices.DeleteFunc(r.spans.Ended(), func(s span) bool { return s.SpanContext().TraceID() != id })
}

// named returns the spans with that name, which must be as many.
func named(t testing.TB, spans []span, name string, n int) []span {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.Name() != name })
	if len(found) != n {
		t.Fatalf("%d spans %q, want %d, of %s", len(found), name, n, names(spans))
	}
	return found
}

func names(spans []span) string {
	var all []string
	for _, s := range spans {
		all = append(all, s.Name())
	}
	return strings.Join(all, ", ")
}

// below returns the spans whose parent that is.
func below(spans []span, parent span) []span {
	return slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.Parent().SpanID() != parent.SpanContext().SpanID() })
}

func attr(s span, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func linksTo(s, to span) bool {
	return slices.ContainsFunc(s.Links(), func(l sdktrace.Link) bool { return l.SpanContext.SpanID() == to.SpanContext().SpanID() })
}

// order sends a request with a trace of the client's.
func (r *recorded) order() receipt {
	r.t.Helper()
	resp, data := r.call(http.MethodPost, "/api/deliveryrequests", deliveryBody, "traceparent", clientTrace)
	return r.settle(resp, data)
}

// measured wants a counter to have a value, or a histogram as many measurements.
func (r *recorded) measured(name, attributes string, want float64) {
	r.t.Helper()
	got, known := r.read()[name+"{"+attributes+"}"]
	if !known || got != want {
		r.t.Errorf("%s{%s} is %v, %v; want %v", name, attributes, got, known, want)
	}
}

// read returns all sums and gauges, and the counts of histograms, by name and attributes.
func (r *recorded) read() map[string]float64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				values[m.Name+"{"+p.Attributes.Encoded(attributeText)+"}"] = float64(p.Value)
			}
		case metricdata.Sum[float64]:
			for _, p := range data.DataPoints {
				values[m.Name+"{"+p.Attributes.Encoded(attributeText)+"}"] = p.Value
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				values[m.Name+"{"+p.Attributes.Encoded(attributeText)+"}"] = p.Value
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				values[m.Name+"{"+p.Attributes.Encoded(attributeText)+"}"] = float64(p.Count)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				values[m.Name+"{"+p.Attributes.Encoded(attributeText)+"}"] = float64(p.Count)
			}
		}
	}
	return values
}

// attributeText writes attributes as key=value, with commas between them.
var attributeText = attribute.DefaultEncoder()

func TestMeasurementsOfADelivery(t *testing.T) {
	r := newRecorded(t)
	r.account("owner-1", "active")
	receipt := r.order()
	r.call(http.MethodPost, "/api/deliveryrequests", "{")
	r.relayAll([]byte("rubbish"))
	r.ports.signals.Tried(context.Background(), cosmosdb.Try{Container: "drones", Status: 429, Charge: 2.5})
	for name, want := range map[string]float64{
		"drone_delivery.requests.accepted{operation=start}":                                                   1,
		"drone_delivery.accept.duration{operation=start}":                                                     1,
		"drone_delivery.requests.refused{error.type=malformed,http.response.status_code=400,operation=start}": 1,
		"drone_delivery.batch.events{}":                                                                       1,
		"drone_delivery.shard.events{shard=1}":                                                                1,
		"drone_delivery.shards.map.version{}":                                                                 0,
		"drone_delivery.batch.fill{}":                                                                         1,
		"drone_delivery.transaction.duration{state=Running}":                                                  1,
		"drone_delivery.transaction.duration{state=Completed}":                                                1,
		"drone_delivery.step.outcomes{outcome=succeeded,step=drone}":                                          1,
		"drone_delivery.quarantined{reason=Unreadable,source=requests.3}":                                     1,
		"drone_delivery.cosmosdb.request_charge{container=drones}":                                            2.5,
		"drone_delivery.cosmosdb.operations{container=drones}":                                                1,
		"drone_delivery.cosmosdb.throttled{container=drones}":                                                 1,
		"drone_delivery.queue.age{queue=requests}":                                                            2,
		"faas.invocations{faas.name=Schedule,faas.trigger=pubsub}":                                            1,
		"faas.invoke_duration{faas.name=Relay,faas.trigger=pubsub}":                                           2,
		"http.server.request.duration{http.request.method=PUT,http.response.status_code=201,http.route=/api/deliveries/{id},url.scheme=http}":                             1,
		"messaging.client.sent.messages{messaging.destination.name=transactions,messaging.operation.name=send,messaging.system=servicebus}":                               1,
		"messaging.client.consumed.messages{messaging.destination.name=transactions,messaging.operation.name=process,messaging.system=servicebus}":                        1,
		"messaging.process.duration{messaging.destination.name=requests,messaging.operation.name=process,messaging.system=eventhubs}":                                     2,
		"messaging.client.operation.duration{messaging.destination.name=requests,messaging.operation.name=send,messaging.operation.type=send,messaging.system=eventhubs}": 1,
	} {
		if got, known := r.read()[name]; !known || got != want {
			t.Errorf("%s is %v, %v; want %v", name, got, known, want)
		}
	}
	for name := range r.read() {
		if strings.Contains(name, receipt.TransactionID) || strings.Contains(name, "owner-1") || strings.Contains(name, "package-1") {
			t.Errorf("%s has an id", name)
		}
	}
}

// TestSlowAndFailedTriesHaveSpans has only those recorded of Cosmos DB.
func TestSlowAndFailedTriesHaveSpans(t *testing.T) {
	r := newRecorded(t)
	s := r.ports.signals
	ctx, root := s.Tracer.Start(context.Background(), "root")
	began := time.Now().Add(-time.Second)
	for _, try := range []cosmosdb.Try{
		{Container: "drones", Method: "GET", Status: 404, Began: began, Took: time.Millisecond},
		{Container: "drones", Method: "PUT", Status: 200, Began: began, Took: 200 * time.Millisecond},
		{Container: "drones", Method: "POST", Status: 503, Began: began, Took: time.Millisecond},
		{Method: "GET", Began: began},
	} {
		s.Tried(ctx, try)
	}
	root.End()
	got := r.spans.Ended()
	if names(got) != "PUT drones, POST drones, GET, root" {
		t.Fatalf("got %s", names(got))
	}
	if took := got[0].EndTime().Sub(got[0].StartTime()); took != 200*time.Millisecond || !got[0].StartTime().Equal(began) {
		t.Errorf("it took %v", took)
	}
	if attr(got[1], "error.type") != "503" || attr(got[2], "error.type") != "broken" || got[1].Parent().SpanID() != root.SpanContext().SpanID() {
		t.Errorf("%v, %v", got[1].Attributes(), got[2].Attributes())
	}
}

// TestLogLinesOfADelivery looks at all lines at the finest level: they say whose
// they are, and nothing of what a client has sent.
func TestLogLinesOfADelivery(t *testing.T) {
	r := newRecorded(t, "LOG_LEVEL", "debug")
	r.account("owner-1", "active")
	r.log.reset()
	receipt := r.order()
	resp, data := r.call(http.MethodDelete, "/api/deliveryrequests/"+receipt.TransactionID, "")
	r.settle(resp, data)
	lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
	if len(lines) < 20 {
		t.Fatalf("%d lines:\n%s", len(lines), r.log)
	}
	for _, line := range lines {
		for _, secret := range []string{"latitude", "47.6", "122.", "fragile", "FingerPrint", "Contoso", "weight", "pickup"} {
			if strings.Contains(line, secret) {
				t.Errorf("a line has %s: %s", secret, line)
			}
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{telemetry.KeyInvocation, telemetry.KeyFunction, telemetry.KeyTrace, telemetry.KeySpan} {
			if got[key] == nil {
				t.Errorf("a line has no %s: %s", key, line)
			}
		}
		// The function itself knows whose message it has; around it only the
		// message is known, whose id is the operation's or begins with the
		// transaction's.
		if f := got[telemetry.KeyFunction]; f != "Schedule" && f != "Supervise" {
			continue
		}
		if got["msg"] != "invocation succeeded" && got[telemetry.KeyTransaction] != receipt.TransactionID || got[telemetry.KeyMessage] == nil {
			t.Errorf("a line does not say whose it is: %s", line)
		}
	}
}

// TestLinesThatAlertsCount has a transaction become Stuck and messages go into
// quarantine.
func TestLinesThatAlertsCount(t *testing.T) {
	r := newRecorded(t, "DEAD_LETTERS", "1", "CALL_ATTEMPTS", "1")
	open := r.open()
	for range 3 {
		body := encode(t, engine.Envelope{TransactionID: open.ID, Wake: r.transactions.Get(open.ID).Wake})
		r.deliver("DeadLetterTransactions", "m-1", body, map[string]any{"DeadLetterReason": "made up"})
	}
	r.deliver("Schedule", "m-2", []byte("rubbish"), nil)
	var stuck, quarantined int
	for line := range strings.SplitSeq(strings.TrimSpace(r.log.String()), "\n") {
		switch {
		case strings.Contains(line, `"msg":"transaction stuck"`):
			stuck++
			if !strings.Contains(line, `"level":"ERROR"`) || !strings.Contains(line, open.ID) || !strings.Contains(line, "dead-lettered") {
				t.Errorf("got %s", line)
			}
		case strings.Contains(line, `"msg":"message quarantined"`):
			quarantined++
			if !strings.Contains(line, `"level":"WARN"`) {
				t.Errorf("got %s", line)
			}
		}
	}
	if stuck != 1 || quarantined != 4 {
		t.Errorf("%d stuck, %d quarantined\n%s", stuck, quarantined, r.log)
	}
	r.measured("drone_delivery.transactions.stuck", "", 1)
	r.measured("drone_delivery.quarantined", "reason=other,source=transactions.deadletter", 3)
	r.measured("drone_delivery.quarantined", "reason=Unreadable,source=transactions", 1)
}

// shutOut lets no undo through to the backends.
type shutOut struct{ engine.Backends }

func (s shutOut) Do(ctx context.Context, r engine.Attempt) workflow.Outcome {
	if !r.Undo {
		return s.Backends.Do(ctx, r)
	}
	return workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectNo, Status: 403, Type: problem.Forbidden.ID, Message: "not let in"}
}

// TestUndoThatIsShutOut has what alerts count of an undo that is repeated: that it
// is refused, for how long, and that the backend is left alone.
func TestUndoThatIsShutOut(t *testing.T) {
	r := newRecorded(t, "BREAKER_MIN_CALLS", "2", "CALL_ATTEMPTS", "2")
	r.account("owner-1", "active")
	path := r.post(deliveryBody).TransactionURL
	p := r.ports
	p.backends = shutOut{p.backends}
	if err := r.app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	app, err := assemble(chosen.Business(), r.settings, telemetry.NewLogger(r.log, slog.LevelWarn), p)
	if err != nil {
		t.Fatal(err)
	}
	r.app = app
	resp, data := r.call(http.MethodDelete, path, "")
	r.settle(resp, data)
	r.measured("drone_delivery.step.outcomes", "outcome=undo_forbidden,step=drone", 2)
	r.measured("drone_delivery.undo.age", "", 1)
	if open := r.read()["drone_delivery.breaker.open{backend=drone}"]; open <= 0 {
		t.Errorf("the breaker has been open for %v s", open)
	}
	if n := strings.Count(r.log.String(), `"msg":"undo refused"`); n != 1 || strings.Contains(r.log.String(), `"msg":"undo lasts long"`) {
		t.Errorf("%d undos refused\n%s", n, r.log)
	}
	r.ahead.Store(int64(61 * time.Minute))
	r.work()
	r.measured("drone_delivery.undo.age", "", 2)
	if n := strings.Count(r.log.String(), `"msg":"undo lasts long"`); n != 1 {
		t.Errorf("%d undos last long\n%s", n, r.log)
	}
}

// TestPageOfTheMetrics opens the app as it is opened in production.
func TestPageOfTheMetrics(t *testing.T) {
	for _, shown := range []string{"true", "false"} {
		s, err := settings.Load(chosen.Business(), environment("http://localhost", "PROMETHEUS_METRICS", shown))
		if err != nil {
			t.Fatal(err)
		}
		app, err := New(chosen.Business(), s, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			app.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w
		}
		get("/api/live")
		w := get("/metrics")
		measured := strings.Contains(w.Body.String(), `http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/api/live"`)
		if measured != (shown == "true") || (w.Code == http.StatusOK) != measured {
			t.Errorf("PROMETHEUS_METRICS %s: %d\n%s", shown, w.Code, w.Body)
		}
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestIdentityForTelemetry has exports go with a token of the app's identity:
// nothing is asked for before there is something to export.
func TestIdentityForTelemetry(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://127.0.0.1:1/v1/traces")
	for _, id := range []string{"", "00000000-0000-0000-0000-000000000001"} {
		s, err := settings.Load(chosen.Business(), environment("http://localhost", "OTLP_AUTH_SCOPE", "https://monitor.azure.com/.default", "OTLP_CLIENT_ID", id))
		if err != nil {
			t.Fatal(err)
		}
		var log syncBuffer
		_, end, err := openSignals(chosen.Business(), s, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := end(context.Background()); err != nil || log.String() != "" {
			t.Errorf("%v, log %s", err, &log)
		}
	}
}

// TestWhoWaitsForExports has only events wait, whose answers are not given yet;
// what is asked all the time does not count as an invocation.
func TestWhoWaitsForExports(t *testing.T) {
	var begun int
	var ended []bool
	w := newWorldWith(t, observe.Signals{Begin: func() func(bool) {
		begun++
		return func(wait bool) { ended = append(ended, wait) }
	}})
	w.call(http.MethodGet, "/api/live", "")
	w.call(http.MethodGet, "/api/deliveryrequests/x", "")
	w.deliver("Schedule", "m-1", []byte("rubbish"), nil)
	w.sweep()
	w.server.Close() // the end of a request may come after its answer
	if want := []bool{false, true, true}; begun != 3 || !slices.Equal(ended, want) {
		t.Errorf("%d begun, ended %v, want %v", begun, ended, want)
	}
}

// TestTelemetryDoesNotFailTheEnd stops a handler whose collector does not answer.
func TestTelemetryDoesNotFailTheEnd(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL)
	s, err := settings.Load(chosen.Business(), environment("http://localhost"))
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	signals, end, err := openSignals(chosen.Business(), s, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, span := signals.Tracer.Start(context.Background(), "x")
	span.End()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := end(ctx); err != nil || !strings.Contains(log.String(), "the last of the telemetry is lost") {
		t.Errorf("%v, log %s", err, &log)
	}
}
