package observe

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver that keeps what it gets.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	status  int
	headers []http.Header
	spans   []*tracepb.Span
	names   []string // service.name of each export
	metrics map[string]*metricspb.Metric
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{status: http.StatusOK, metrics: map[string]*metricspb.Metric{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.receive(t, w, r) }))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(t *testing.T, w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			t.Error(err)
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	if c.status != http.StatusOK {
		w.WriteHeader(c.status)
		return
	}
	switch r.URL.Path {
	case "/v1/traces":
		var all coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &all); err != nil {
			t.Error(err)
		}
		for _, resource := range all.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.name" {
					c.names = append(c.names, a.Value.GetStringValue())
				}
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var all colmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(data, &all); err != nil {
			t.Error(err)
		}
		for _, resource := range all.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
	default:
		t.Errorf("export to %s", r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}
