package observe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"go.opentelemetry.io/otel"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// fixed is a credential with one token.
type fixed struct {
	token string
	err   error
	mu    sync.Mutex
	scope string
}

func (f *fixed) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scope = strings.Join(o.Scopes, " ")
	return azcore.AccessToken{Token: f.token, ExpiresOn: time.Now().Add(time.Hour)}, f.err
}

// buffer is a log that several write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func open(t *testing.T, c Config) (*Telemetry, *buffer) {
	t.Helper()
	log := &buffer{}
	c.Service, c.Prefix, c.Logger = "orders", "orders", slog.New(slog.NewTextHandler(log, nil))
	if c.TraceRatio == 0 {
		c.TraceRatio = 1
	}
	opened, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	opened.flusher.every = 0
	t.Cleanup(func() {
		if err := opened.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return opened, log
}

// record makes a span and a measurement within an invocation.
func record(t *Telemetry) {
	end := t.begin()
	ctx, span := t.tracers.Tracer("test").Start(context.Background(), "work")
	if counter, err := t.meters.Meter("test").Int64Counter("done"); err == nil {
		counter.Add(ctx, 1)
	}
	span.End()
	end(true)
}

func TestOTLP(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	to, log := open(t, Config{})
	record(to)
	to.flusher.wait() // the collector may take longer than anybody waits
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spans) != 1 || c.spans[0].Name != "work" || len(c.names) != 1 || c.names[0] != "mine" {
		t.Errorf("spans %v of %v", c.spans, c.names)
	}
	sum := c.metrics["done"].GetSum()
	if sum == nil || sum.DataPoints[0].GetAsInt() != 1 || sum.AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Errorf("metrics %v", c.metrics)
	}
	if c.headers[0].Get("Authorization") != "" || log.String() != "" {
		t.Errorf("headers %v, log %s", c.headers[0], log)
	}
}

// TestAzureMonitor exports with a token, and differences.
func TestAzureMonitor(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", c.URL+"/v1/metrics")
	credential := &fixed{token: "secret"}
	to, _ := open(t, Config{Credential: credential, Scope: "https://monitor.azure.com/.default"})
	record(to)
	to.flusher.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.headers) != 2 || credential.scope != "https://monitor.azure.com/.default" {
		t.Errorf("%d exports, scope %s", len(c.headers), credential.scope)
	}
	for _, h := range c.headers {
		if h.Get("Authorization") != "Bearer secret" {
			t.Errorf("headers %v", h)
		}
	}
	if sum := c.metrics["done"].GetSum(); sum.GetAggregationTemporality() != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
		t.Errorf("metrics %v", c.metrics)
	}
}

func TestTokenIsNotSentInTheClear(t *testing.T) {
	sent := false
	next := roundTrip(func(*http.Request) (*http.Response, error) { sent = true; return nil, errors.New("sent") })
	for url, want := range map[string]bool{
		"https://c.example/": true, "http://127.0.0.1:4318/": true, "http://[::1]/": true, "http://localhost/": true,
		"http://c.example/": false, "http://10.0.0.1/": false,
	} {
		sent = false
		r := httptest.NewRequest(http.MethodPost, url, strings.NewReader("x"))
		_, err := (&bearer{&fixed{token: "secret"}, "s", next}).RoundTrip(r)
		if sent != want || !want && !errors.Is(err, errPlain) || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: sent %v, %v", url, sent, err)
		}
	}
	_, err := (&bearer{&fixed{err: errors.New("no identity")}, "s", next}).RoundTrip(httptest.NewRequest(http.MethodPost, "https://c/", nil))
	if err == nil || !strings.Contains(err.Error(), "no identity") {
		t.Errorf("got %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestCollectorDown drops what can't be exported, counts it, and tells of it
// once; when the collector is there again, once more.
func TestCollectorDown(t *testing.T) {
	c := newCollector(t)
	c.status = http.StatusForbidden // which is not repeated
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	to, log := open(t, Config{Prometheus: true})
	for range 3 {
		record(to)
		to.flusher.wait()
	}
	if n := strings.Count(log.String(), "telemetry is dropped"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log)
	}
	if text := pageOf(t, to); !strings.Contains(text, `orders_telemetry_dropped_total{signal="traces"} 3`) {
		t.Errorf("not counted:\n%s", text)
	}
	c.mu.Lock()
	c.status = http.StatusOK
	c.mu.Unlock()
	record(to)
	to.flusher.wait()
	if !strings.Contains(log.String(), "telemetry is exported again") || !strings.Contains(log.String(), "dropped=3") {
		t.Errorf("got\n%s", log)
	}
}

func pageOf(t *testing.T, to *Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	to.page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the page answers %d", w.Code)
	}
	return w.Body.String()
}

func TestPrometheus(t *testing.T) {
	to, _ := open(t, Config{Prometheus: true})
	record(to)
	text := pageOf(t, to)
	for _, want := range []string{"done_total 1", "go_goroutines", "target_info{"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if _, span := to.tracers.Tracer("t").Start(context.Background(), "x"); span.IsRecording() {
		t.Error("spans are recorded for nobody")
	}
}

// TestNothingConfigured records nothing, and passes on the trace of a caller.
func TestNothingConfigured(t *testing.T) {
	to, _ := open(t, Config{})
	record(to)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx, span := to.tracers.Tracer("t").Start(telemetry.Remote(context.Background(), parent), "x")
	if span.IsRecording() || telemetry.TraceParent(ctx) != parent || to.page != nil {
		t.Errorf("recording %v, trace %s", span.IsRecording(), telemetry.TraceParent(ctx))
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	if to, _ = open(t, Config{}); len(to.outages) > 0 || to.flusher.flush != nil {
		t.Error("there are exporters although the environment wants none")
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	to, _ = open(t, Config{Prometheus: true})
	if to.page != nil {
		t.Error("the SDK is not disabled")
	}
}

func TestSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "microsoft.fixed_percentage") // the host's
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	var complaints []error
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { complaints = append(complaints, err) }))
	recorded := func(to *Telemetry, traceparent string) bool {
		ctx, span := to.tracers.Tracer("t").Start(telemetry.Remote(context.Background(), traceparent), "x")
		_, child := to.tracers.Tracer("t").Start(ctx, "y")
		if child.IsRecording() != span.IsRecording() || !span.SpanContext().IsValid() {
			t.Errorf("a child: %v, its parent: %v, %v", child.IsRecording(), span.IsRecording(), span.SpanContext())
		}
		return span.IsRecording()
	}
	all, log := open(t, Config{TraceFile: filepath.Join(t.TempDir(), "t"), TraceRatio: 1})
	for _, traceparent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		if !recorded(all, traceparent) {
			t.Errorf("%q is not recorded", traceparent)
		}
	}
	if text := log.String(); text != "" || complaints != nil {
		t.Errorf("logged %q, complained of %v", text, complaints)
	}
	// Two handlers agree on each trace, whatever its caller decided.
	some, _ := open(t, Config{TraceFile: filepath.Join(t.TempDir(), "t"), TraceRatio: 0.25})
	others, _ := open(t, Config{TraceFile: filepath.Join(t.TempDir(), "t"), TraceRatio: 0.25})
	n := 0
	for i := range 1000 {
		trace := fmt.Sprintf("00-%032x-b7ad6b7169203331-0", sha256.Sum256(fmt.Append(nil, i)))[:3+32] + "-b7ad6b7169203331-0"
		one := recorded(some, trace+"1")
		if one != recorded(others, trace+"0") {
			t.Errorf("%s is recorded by one alone", trace)
		}
		if one {
			n++
		}
	}
	if n < 200 || n > 300 {
		t.Errorf("recorded %d of 1000 traces, want about 250", n)
	}
}

// TestTraceFile has two processes write one file: each line is OTLP in JSON.
func TestTraceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	for range 2 {
		to, err := Open(Config{TraceFile: path, TraceRatio: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		record(to)
		if err := to.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	for _, line := range lines {
		var all struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct{ Name, TraceID, SpanID string }
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Fatal(err)
		}
		s := all.ResourceSpans[0].ScopeSpans[0].Spans[0]
		if s.Name != "work" || len(s.TraceID) != 32 || len(s.SpanID) != 16 {
			t.Errorf("got %s", line)
		}
	}
	if _, err := Open(Config{TraceFile: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a folder was taken for a file")
	}
}

// TestFullQueue drops what comes while a collector takes nothing.
func TestFullQueue(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(c.Close)
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	to, log := open(t, Config{})
	tracer := to.tracers.Tracer("t")
	for range queued + 5 {
		_, span := tracer.Start(context.Background(), "x")
		span.End()
	}
	if total := to.outages[0].total.Load(); total != 5 || strings.Count(log.String(), "the queue is full") != 1 {
		t.Errorf("%d dropped, log:\n%s", total, log)
	}
	once.Do(func() { close(release) })
	for range 2 { // the first empties the queue
		record(to)
		to.flusher.wait()
	}
	if total := to.outages[0].total.Load(); total > 6 {
		t.Errorf("%d dropped: the queue stays full", total)
	}
}

// TestCloseIsBounded gives up a collector that does not answer.
func TestCloseIsBounded(t *testing.T) {
	given := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // the exporter has given up
		close(given)
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	to, err := Open(Config{TraceRatio: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, span := to.tracers.Tracer("t").Start(context.Background(), "x")
	span.End()
	// The export has begun when Close runs out of time.
	begun := to.flusher
	begun.every = 0
	begun.begin()
	begun.end(false)
	ctx, cancel := context.WithCancel(context.Background())
	stop := time.AfterFunc(FlushTime, cancel)
	defer stop.Stop()
	if err := to.Close(ctx); err == nil {
		t.Error("closed without an error, and without its spans")
	}
	select {
	case <-given:
	case <-time.After(exportTime / 2):
		t.Error("the export goes on after Close")
	}
}
