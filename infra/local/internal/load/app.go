package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// State is the app at one moment.
type State struct {
	Counts Counts `json:"counts"`
	// Known is false for an app that shows no metrics: Counts is empty then.
	Known     bool            `json:"known"`
	Processes []meter.Process `json:"processes,omitempty"`
}

// Counts are what one handler has counted since its start.
type Counts struct {
	Accepted    float64            `json:"accepted"`    // transactions
	Ended       float64            `json:"ended"`       // transactions that came to a final state
	Invocations map[string]float64 `json:"invocations"` // by function
	Operations  map[string]float64 `json:"operations"`  // on Cosmos DB, by container
	Units       map[string]float64 `json:"units"`       // RU that they cost, by container
	// Sent and Taken are messages of Service Bus, EventsTaken those of the hub: what
	// invocations were for that have ended.
	Sent        float64 `json:"sent"`
	Taken       float64 `json:"taken"`
	EventsTaken float64 `json:"eventsTaken"`
	// Recognized are operations that came again and were on record.
	Recognized float64 `json:"recognized"`
}

// Backlog is how many transactions are accepted and not at their end.
func (c Counts) Backlog() int { return int(c.Accepted - c.Ended) }

// Since returns what was counted after another reading.
func (c Counts) Since(before Counts) Counts {
	return Counts{
		Accepted: c.Accepted - before.Accepted, Ended: c.Ended - before.Ended,
		Invocations: since(c.Invocations, before.Invocations),
		Operations:  since(c.Operations, before.Operations), Units: since(c.Units, before.Units),
		Sent: c.Sent - before.Sent, Taken: c.Taken - before.Taken, EventsTaken: c.EventsTaken - before.EventsTaken, Recognized: c.Recognized - before.Recognized,
	}
}

func since(now, before map[string]float64) map[string]float64 {
	grown := map[string]float64{}
	for name, n := range now {
		if n > before[name] {
			grown[name] = n - before[name]
		}
	}
	return grown
}

// ErrNoMetrics is returned for an app that shows no metrics.
var ErrNoMetrics = errors.New("the app shows no metrics")

// serviceBus is the system's name in OpenTelemetry's conventions.
const serviceBus = "servicebus"

// Scrape reads the metrics of the handler behind a URL such as
// http://127.0.0.1:7071.
func Scrape(ctx context.Context, app string) (Counts, error) {
	return ScrapePage(ctx, app+"/api/metrics")
}

// ScrapePage reads the metrics on a page.
func ScrapePage(ctx context.Context, page string) (Counts, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return Counts{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Counts{}, fmt.Errorf("read the app's metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Counts{}, fmt.Errorf("%w: status %d", ErrNoMetrics, resp.StatusCode)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return Counts{}, fmt.Errorf("read the app's metrics: %w", err)
	}
	return counts(families), nil
}

// counts picks what is told from the metrics in docs/telemetry.md. Their names
// begin with the business's name.
func counts(families map[string]*dto.MetricFamily) Counts {
	c := Counts{Invocations: map[string]float64{}, Operations: map[string]float64{}, Units: map[string]float64{}}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			value := m.GetCounter().GetValue()
			switch {
			case strings.HasSuffix(name, "_requests_accepted_total") && label(m, "operation") == string(workflow.OperationStart):
				c.Accepted += value
			case strings.HasSuffix(name, "_transaction_duration_seconds") && workflow.State(label(m, "state")).Final():
				c.Ended += float64(m.GetHistogram().GetSampleCount())
			case strings.HasSuffix(name, "_operations_recognized_total"):
				c.Recognized += value
			case name == "faas_invocations_total" || name == "faas_errors_total":
				c.Invocations[label(m, "faas_name")] += value
			case name == "messaging_client_sent_messages_total" && label(m, "messaging_system") == serviceBus:
				c.Sent += value
			case name == "messaging_client_consumed_messages_total" && label(m, "messaging_system") == serviceBus:
				c.Taken += value
			case name == "messaging_client_consumed_messages_total":
				c.EventsTaken += value
			case strings.HasSuffix(name, "_cosmosdb_operations_total"):
				c.Operations[label(m, "container")] += value
			case strings.HasSuffix(name, "_cosmosdb_request_charge_total"):
				c.Units[label(m, "container")] += value
			}
		}
	}
	return c
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
