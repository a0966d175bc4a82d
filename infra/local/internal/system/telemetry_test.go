package system_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// spanLine is what a line of a trace file has, as far as it matters here.
type spanLine struct {
	ResourceSpans []struct {
		ScopeSpans []struct{ Spans []fileSpan }
	}
}

type fileSpan struct {
	Name                          string
	TraceID, SpanID, ParentSpanID hexID
	Links                         []struct{ TraceID, SpanID hexID }
}

// hexID is an id in hexadecimal, which OTLP in JSON has in either case.
type hexID string

func (id *hexID) UnmarshalText(text []byte) error {
	*id = hexID(strings.ToLower(string(text)))
	return nil
}

// spansIn reads a trace file; a line that is being written is left for the next
// time.
func spansIn(t *testing.T, path string) []fileSpan {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var spans []fileSpan
	for line := range strings.Lines(string(text)) {
		var parsed spanLine
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			if strings.HasSuffix(line, "\n") {
				t.Fatalf("%v: %s", err, line)
			}
			continue
		}
		for _, r := range parsed.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
	}
	return spans
}

// Ensure that one delivery is one trace over the real protocols: what the client
// sent travels through the hub, the queue and the calls, and the host's own spans
// are linked.
func TestOneDeliveryIsOneTrace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "spans.jsonl")
	r := start(t, map[string]string{"TRACE_FILE": file, "PROMETHEUS_METRICS": "true"})
	const traceID, client hexID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.url("/api/deliveryrequests/traced"),
		strings.NewReader(request("p-traced", time.Now().Add(time.Hour))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", "00-"+string(traceID)+"-"+string(client)+"-01")
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.await("traced", "Completed", func(p progress) bool { return p.State == "Completed" })

	var all []fileSpan
	steps := map[string]string{
		"step account": "GET /api/account/{id}", "step package": "PUT /api/packages/{id}", "step transportation": "PUT /api/thirdpartydeliveries/{id}",
		"step drone": "PUT /api/dronedeliveries/{id}", "step delivery": "PUT /api/deliveries/{id}",
	}
	inTrace := func() []fileSpan {
		all = spansIn(t, file)
		return slices.DeleteFunc(slices.Clone(all), func(s fileSpan) bool { return s.TraceID != traceID })
	}
	// The work on a message ends after all that it does, and with it its span.
	await(t, "the spans of the delivery", func() bool {
		spans := inTrace()
		return len(spans) >= 2+2*len(steps) && slices.ContainsFunc(spans, func(s fileSpan) bool { return s.Name == "process transactions" })
	})
	spans := inTrace()
	one := func(name string, parent hexID) fileSpan {
		t.Helper()
		var found []fileSpan
		for _, s := range spans {
			if s.Name == name && s.ParentSpanID == parent {
				found = append(found, s)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d spans %s below %s of %+v", len(found), name, parent, spans)
		}
		return found[0]
	}
	ingest := one("PUT /api/deliveryrequests/{id}", client)
	schedule := one("process transactions", ingest.SpanID)
	if len(schedule.Links) != 1 || schedule.Links[0].TraceID != traceID {
		t.Errorf("the host's span is not linked: %+v", schedule.Links)
	}
	for step, route := range steps {
		attempt := one(step, schedule.SpanID)
		one(route, attempt.SpanID)
	}
	for _, name := range []string{"send requests", "process requests"} {
		if !slices.ContainsFunc(all, func(s fileSpan) bool {
			return s.Name == name && s.TraceID != traceID && len(s.Links) == 1 && s.Links[0].SpanID == ingest.SpanID
		}) {
			t.Errorf("no %s with a link to the request among %+v", name, all)
		}
	}
	page := string(r.want(http.StatusOK, http.MethodGet, "/api/metrics", "").Body)
	for _, metric := range []string{
		`drone_delivery_requests_accepted_total{operation="start"} 1`,
		`drone_delivery_transaction_duration_seconds_count{state="Completed"} 1`,
		`drone_delivery_cosmosdb_request_charge_total{container="transactions"}`,
		`drone_delivery_cosmosdb_operations_total{container="transactions"}`,
		`drone_delivery_queue_age_seconds_count{queue="transactions"} 1`,
	} {
		if !strings.Contains(page, metric) {
			t.Errorf("%s is not among\n%s", metric, page)
		}
	}
}
