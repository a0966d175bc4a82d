package load

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

// page is what a handler shows, of which only some is counted.
const page = `# TYPE x_requests_accepted_total counter
x_requests_accepted_total{operation="start"} 7
x_requests_accepted_total{operation="cancel"} 2
# TYPE x_transaction_duration_seconds histogram
x_transaction_duration_seconds_bucket{state="Completed",le="+Inf"} 4
x_transaction_duration_seconds_sum{state="Completed"} 9
x_transaction_duration_seconds_count{state="Completed"} 4
x_transaction_duration_seconds_bucket{state="Stuck",le="+Inf"} 1
x_transaction_duration_seconds_sum{state="Stuck"} 9
x_transaction_duration_seconds_count{state="Stuck"} 1
# TYPE x_operations_recognized_total counter
x_operations_recognized_total 3
# TYPE faas_invocations_total counter
faas_invocations_total{faas_name="Relay",faas_trigger="pubsub"} 3
# TYPE faas_errors_total counter
faas_errors_total{faas_name="Relay",faas_trigger="pubsub"} 1
# TYPE x_cosmosdb_operations_total counter
x_cosmosdb_operations_total{container="transactions"} 20
# TYPE x_cosmosdb_request_charge_total counter
x_cosmosdb_request_charge_total{container="transactions"} 90.5
# TYPE messaging_client_sent_messages_total counter
messaging_client_sent_messages_total{messaging_system="servicebus",messaging_destination_name="transactions"} 6
messaging_client_sent_messages_total{messaging_system="eventhubs",messaging_destination_name="requests"} 7
# TYPE messaging_client_consumed_messages_total counter
messaging_client_consumed_messages_total{messaging_system="servicebus",messaging_destination_name="transactions"} 5
messaging_client_consumed_messages_total{messaging_system="eventhubs",messaging_destination_name="requests"} 8
`

func TestScrape(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.WriteHeader(status)
		if r.URL.Path == "/api/metrics" {
			io.WriteString(w, page)
		}
	}))
	defer server.Close()
	got, err := Scrape(t.Context(), server.URL)
	want := Counts{
		Accepted: 7, Ended: 4, Invocations: map[string]float64{"Relay": 4},
		Operations: map[string]float64{"transactions": 20}, Units: map[string]float64{"transactions": 90.5},
		Sent: 6, Taken: 5, EventsTaken: 8, Recognized: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	before := Counts{Accepted: 5, Ended: 4, Units: map[string]float64{"transactions": 90}, Sent: 1, Taken: 2, EventsTaken: 3, Recognized: 2}
	want = Counts{
		Accepted: 2, Invocations: map[string]float64{"Relay": 4},
		Operations: map[string]float64{"transactions": 20}, Units: map[string]float64{"transactions": 0.5},
		Sent: 5, Taken: 3, EventsTaken: 5, Recognized: 1,
	}
	if diff := cmp.Diff(want, got.Since(before)); diff != "" {
		t.Error(diff)
	}
	status = http.StatusNotFound
	if _, err := Scrape(t.Context(), server.URL); !errors.Is(err, ErrNoMetrics) {
		t.Errorf("%v", err)
	}
}

func state(accepted, ended float64, processes ...meter.Process) State {
	return State{Known: true, Processes: processes, Counts: Counts{
		Accepted: accepted, Ended: ended, Invocations: map[string]float64{"Ingest": accepted},
		Operations: map[string]float64{"transactions": 18 * ended}, Units: map[string]float64{"transactions": 75 * ended},
	}}
}

func testReport() *Report {
	before := state(10, 10, meter.Process{PID: 1, Name: "local", CPU: time.Second}, meter.Process{PID: 2, Name: "handler"})
	r := &Result{
		Offered: 250, Accepted: 200, Refused: 40, Failed: 10, Took: 2 * time.Second, Failure: "status 500",
		Latency: Latency{200, time.Millisecond, 2 * time.Millisecond, 3500 * time.Microsecond, 4 * time.Millisecond, 5 * time.Millisecond},
		Points: []Point{
			{Second: 0, Offered: 125, Accepted: 125, Latency: Latency{Count: 1, P50: time.Millisecond, P99: 20 * time.Millisecond, Max: 1234 * time.Millisecond},
				State: state(110, 60, meter.Process{PID: 1, Name: "local", CPU: 2 * time.Second, RSS: 300e6}, meter.Process{PID: 2, Name: "handler", CPU: time.Second, RSS: 50e6})},
			{Second: 1, Offered: 125, Accepted: 75, State: state(210, 110, meter.Process{PID: 1, Name: "local", CPU: 3 * time.Second, RSS: 200e6})},
			{Second: 2}, // nobody has looked
		},
	}
	return NewReport("the local runtime", "125:2s", before, r, map[int]string{1: "runtime"})
}

func TestReport(t *testing.T) {
	var b strings.Builder
	if err := testReport().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"", "250 requests in 2.0 s to the local runtime (125:2s)", "",
		"requests a second p50 p90 p99 p99.9 max",
		"offered 250 125",
		"accepted 200 100 1.0 ms 2.0 ms 3.5 ms 4.0 ms 5.0 ms",
		"refused 40 20.00", "failed 10 5.00", "sent late by",
		"", "the first that failed: status 500", "",
		"process CPU s ms a request memory MB most MB",
		"runtime 2.00 8.00 200 300", "handler 1.00 4.00 50 50",
		"", "100 came to their end, 100 wait; for each that ended:", "",
		"container operations RU", "transactions 18.00 75.00", "together 18.00 75.00", "",
		"function invocations", "Ingest 2.00",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	unknown := NewReport("https://app", "1:1s", State{}, &Result{Points: []Point{{}}}, nil)
	if err := unknown.WriteText(&b); err != nil || strings.Contains(b.String(), "came to their end") {
		t.Errorf("%v: %s", err, &b)
	}
}

// Ensure that plots are well-formed and show what was measured.
func TestPlots(t *testing.T) {
	latency, backlog := testReport().Result.Plots()
	for name, c := range map[string]struct {
		plot  Plot
		paths []string
		marks []string
	}{
		// The second second has no latency, so that a line has one point alone.
		"latency": {latency, []string{"M70.0 285.0", "M70.0 208.6", "M70.0 103.4"}, []string{"1 ms", "10 ms", "100 ms", "1000 ms", "10000 ms"}},
		"backlog": {backlog, []string{"M70.0 50.0 L425.0 50.0 L780.0 285.0", "M70.0 50.0 L425.0 144.0 L780.0 285.0", "M70.0 191.0 L425.0 97.0"}, []string{"0", "31", "62", "94", "125"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := c.plot.WriteSVG(&b); err != nil {
				t.Fatal(err)
			}
			var svg struct {
				Text []string `xml:"text"`
				Path []struct {
					D string `xml:"d,attr"`
				} `xml:"path"`
			}
			if err := xml.Unmarshal([]byte(b.String()), &svg); err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, p := range svg.Path {
				paths = append(paths, p.D)
			}
			if diff := cmp.Diff(c.paths, paths); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.marks, svg.Text[1:1+len(c.marks)]); diff != "" {
				t.Error(diff)
			}
		})
	}
	var b strings.Builder
	if err := (Plot{Title: "a < b", Log: true}).WriteSVG(&b); err != nil || !strings.Contains(b.String(), "a &lt; b") || strings.Contains(b.String(), "NaN") {
		t.Errorf("of nothing: %v %s", err, &b)
	}
}
