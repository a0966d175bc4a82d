package host

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

func TestMetricsOfTheHandlerAreShown(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte("done_total 1\n"))
	}
	functions := map[string]string{"Get": httpFunctionJSON("anonymous", `"get"`, "orders")}
	f := start(t, spec{proxy: true, answer: answer, functions: functions, settings: map[string]string{"PROMETHEUS_METRICS": "true"}})
	if status, body := f.do(t, "GET", "/api/metrics", ""); status != http.StatusOK || body != "done_total 1\n" {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := f.do(t, "POST", "/api/metrics", ""); status != http.StatusNotFound {
		t.Errorf("POST: %d", status)
	}
	f = start(t, spec{proxy: true, answer: answer, functions: functions})
	if status, _ := f.do(t, "GET", "/api/metrics", ""); status != http.StatusNotFound {
		t.Errorf("without the setting: %d", status)
	}
}

// TestHostSpan sends a message with a trace, and looks at what the handler gets.
func TestHostSpan(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, mode := range []string{"OpenTelemetry", ""} {
		t.Run("telemetryMode "+mode, func(t *testing.T) {
			connection := messaging(t, queues(broker.QueueConfig{}))
			got := make(chan string, 10)
			s := queueSpec(connection, "", map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header.Get("traceparent")
				ok(w, r)
			})
			s.settings["AzureFunctionsJobHost__telemetryMode"] = mode
			start(t, s)
			client, err := azservicebus.NewClientFromConnectionString(connection, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close(t.Context())
			sender, err := client.NewSender("q", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, property := range []string{parent, ""} {
				m := &azservicebus.Message{Body: []byte("x")}
				if property != "" {
					m.ApplicationProperties = map[string]any{"traceparent": property}
				}
				if err := sender.SendMessage(t.Context(), m, nil); err != nil {
					t.Fatal(err)
				}
				header := receive(t, got)
				span := telemetry.SpanContext(header)
				switch {
				case mode == "" && header != "", mode != "" && (!span.IsValid() || span.IsSampled()):
					t.Errorf("traceparent %q", header)
				case mode != "" && (span.TraceID().String() == parent[3:35]) != (property != ""), strings.Contains(header, "00f067aa0ba902b7"):
					t.Errorf("traceparent %s of a message with %q", header, property)
				}
			}
		})
	}
}
