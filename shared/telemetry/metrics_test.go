package telemetry_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// measure uses every measurement.
func measure(m *telemetry.Metrics) {
	ctx := context.Background()
	m.Accepted(ctx, "start", time.Millisecond)
	m.Refused(ctx, "start", 400, "invalid")
	m.Batch(ctx, 3, 0.5)
	now := time.Now()
	m.Reached(ctx, "Completed", now.Add(-time.Second), now)
	m.Step(ctx, "drone", "succeeded", 2)
	m.Wake(ctx, "transactions")
	m.Compensation(ctx, "failed")
	m.Stuck(ctx)
	m.Quarantined(ctx, "transactions", "Unreadable")
	m.Lost(ctx, 3)
	m.Recognized(ctx)
	m.UndoPutOff(ctx, time.Hour)
	if err := m.Breakers(func() map[string]time.Duration { return map[string]time.Duration{"drone": time.Minute} }); err != nil {
		panic(err)
	}
	m.Acknowledged(ctx, "1", 3)
	if err := m.ShardMap(func() (int, time.Duration) { return 1, time.Second }); err != nil {
		panic(err)
	}
	m.CosmosDB(ctx, "drones", 1.5, true)
	m.QueueAge(ctx, "transactions", now.Add(time.Second), now) // of another machine's clock
	m.Sent(ctx, "servicebus", "transactions", 3, time.Millisecond, "")
	m.Sent(ctx, "servicebus", "transactions", 1, time.Millisecond, "transient")
	m.Processed(ctx, "servicebus", "transactions", 1, time.Millisecond, "timeout")
	m.Invoked(ctx, "Schedule", "pubsub", time.Millisecond, false)
	m.Invoked(ctx, "Schedule", "pubsub", time.Millisecond, true)
	m.HTTPServer(ctx, "GET", "/api/x", 200, time.Millisecond)
	m.HTTPClient(ctx, "PUT", "host", 80, 503, time.Millisecond, "503")
	m.HTTPClient(ctx, "PUT", "host", 80, 0, time.Millisecond, "not-sent")
}

func TestNoMetrics(t *testing.T) { measure(telemetry.NoMetrics()) }

// TestEveryMetricIsDocumented uses all, and looks for name and unit of each in
// the document that alerts are made by.
func TestEveryMetricIsDocumented(t *testing.T) {
	reader := sdk.NewManualReader()
	m, err := telemetry.NewMetrics(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), "drone_delivery")
	if err != nil {
		t.Fatal(err)
	}
	measure(m)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := strings.Count(string(document), "\n| `")
	measured := 1 // of package observe: what was dropped
	for _, m := range all.ScopeMetrics[0].Metrics {
		measured++
		if row := "| `" + m.Name + "` | " + m.Unit + " |"; !strings.Contains(string(document), row) {
			t.Errorf("docs/telemetry.md has no row %q", row)
		}
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "drone_delivery.queue.age" && h.DataPoints[0].Sum != 0 {
			t.Errorf("a negative age was measured: %v", h.DataPoints[0].Sum)
		}
	}
	if documented != measured {
		t.Errorf("docs/telemetry.md has %d metrics, there are %d", documented, measured)
	}
}

// What has no time has no age: that of the year 1 would spoil every
// average.
func TestAges(t *testing.T) {
	now := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		at       time.Time
		want     float64
		measured bool
	}{
		"waited":                {now.Add(-90 * time.Second), 90, true},
		"a day":                 {now.Add(-24 * time.Hour), 86400, true},
		"a clock that is ahead": {now.Add(time.Hour), 0, true},
		"no time":               {time.Time{}, 0, false},
		"1970":                  {time.Unix(0, 0), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			reader := sdk.NewManualReader()
			m, err := telemetry.NewMetrics(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), "drone_delivery")
			if err != nil {
				t.Fatal(err)
			}
			m.QueueAge(t.Context(), "transactions", c.at, now)
			m.Reached(t.Context(), "Completed", c.at, now)
			var all metricdata.ResourceMetrics
			if err := reader.Collect(t.Context(), &all); err != nil {
				t.Fatal(err)
			}
			if measured := len(all.ScopeMetrics) > 0; measured != c.measured {
				t.Fatalf("measured: %v", measured)
			}
			if !c.measured {
				return
			}
			for _, m := range all.ScopeMetrics[0].Metrics {
				if sum := m.Data.(metricdata.Histogram[float64]).DataPoints[0].Sum; sum != c.want {
					t.Errorf("%s: %v seconds, want %v", m.Name, sum, c.want)
				}
			}
		})
	}
}
