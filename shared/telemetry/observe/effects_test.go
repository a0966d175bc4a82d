package observe

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestTimeOfATransaction(t *testing.T) {
	noon := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) workflow.Instant { return workflow.At(noon.Add(time.Duration(minutes) * time.Minute)) }
	deliver := workflow.OperationRecord{Kind: workflow.OperationStart, AcceptedAt: at(0), State: workflow.OperationApplied}
	for name, tc := range map[string]struct {
		operations []workflow.OperationRecord
		want       workflow.Instant
	}{
		"the delivery":                        {nil, at(0)},
		"a reschedule that was taken up":      {[]workflow.OperationRecord{{Kind: workflow.OperationReschedule, AcceptedAt: at(1), Revision: 2}}, at(1)},
		"a reschedule that waits":             {[]workflow.OperationRecord{{Kind: workflow.OperationReschedule, AcceptedAt: at(1)}}, at(0)},
		"a reschedule that was refused":       {[]workflow.OperationRecord{{Kind: workflow.OperationReschedule, AcceptedAt: at(1), Revision: 2, State: workflow.OperationRefused}}, at(0)},
		"a cancel of an early transaction":    {[]workflow.OperationRecord{{Kind: workflow.OperationCancel, AcceptedAt: at(2), Revision: 1, State: workflow.OperationApplied}}, at(2)},
		"a reschedule, and a cancel of it":    {[]workflow.OperationRecord{{Kind: workflow.OperationReschedule, AcceptedAt: at(1), Revision: 2, State: workflow.OperationSuperseded}, {Kind: workflow.OperationCancel, AcceptedAt: at(2)}}, at(2)},
		"a cancel that came, and was refused": {[]workflow.OperationRecord{{Kind: workflow.OperationCancel, AcceptedAt: at(2), State: workflow.OperationRefused}}, at(0)},
	} {
		p := &workflow.Progress{AcceptedAt: at(0), Operations: append([]workflow.OperationRecord{deliver}, tc.operations...)}
		if got := askedAt(p); !got.Equal(tc.want.Time) {
			t.Errorf("%s: since %s, want %s", name, got, tc.want)
		}
	}
}

// TestMeasuredValues looks at values, where the tests of a delivery count.
func TestMeasuredValues(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m, err := telemetry.NewMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter(telemetry.Scope), "test")
	if err != nil {
		t.Fatal(err)
	}
	s := Signals{Metrics: m}
	now := time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	s.Flushed(ingest.Limits{Events: 100, Bytes: 1000}, 2)(ingest.Flush{Events: 10, Bytes: 750})
	s.Flushed(ingest.Limits{Events: 100, Bytes: 1000}, 2)(ingest.Flush{Events: 10, Bytes: 750, Err: io.EOF})
	if err := m.ShardMap(func() (int, time.Duration) { return 7, 3 * time.Second }); err != nil {
		t.Fatal(err)
	}
	s.Changed(func() time.Time { return now })(context.Background(), workflow.Running,
		&workflow.Progress{State: workflow.Completed, AcceptedAt: workflow.At(now.Add(-90 * time.Second))})
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			sums[m.Name] = h.DataPoints[0].Sum
		}
		if c, ok := m.Data.(metricdata.Sum[int64]); ok {
			sums[m.Name+" "+c.DataPoints[0].Attributes.Encoded(attribute.DefaultEncoder())] = float64(c.DataPoints[0].Value)
		}
		if g, ok := m.Data.(metricdata.Gauge[float64]); ok {
			sums[m.Name] = g.DataPoints[0].Value
		}
	}
	if sums["test.shard.events shard=2"] != 10 || sums["test.shards.map.version"] != 7 || sums["test.shards.map.age"] != 3 {
		t.Errorf("got %v", sums)
	}
	if sums["test.batch.fill"] != 1.5 || sums["test.transaction.duration"] != 90 {
		t.Errorf("got %v", sums)
	}
}

// TestOperationsOfRequests holds the names in the metrics to those of the
// operations.
func TestOperationsOfRequests(t *testing.T) {
	for method, want := range map[string]workflow.OperationKind{
		http.MethodPost: workflow.OperationStart, http.MethodPut: workflow.OperationStart,
		http.MethodPatch: workflow.OperationReschedule, http.MethodDelete: workflow.OperationCancel,
	} {
		if got := operationOf(method); got != want {
			t.Errorf("%s is %s, want %s", method, got, want)
		}
	}
}
