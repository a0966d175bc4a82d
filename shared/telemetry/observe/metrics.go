package observe

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

func newMeterProvider(readers []sdkmetric.Reader, about *resource.Resource) *sdkmetric.MeterProvider {
	// Exemplars would keep trace ids for every series, and nobody reads them.
	options := []sdkmetric.Option{sdkmetric.WithResource(about), sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter)}
	for _, r := range readers {
		options = append(options, sdkmetric.WithReader(r))
	}
	return sdkmetric.NewMeterProvider(options...)
}

// newPage returns the metrics in the format of Prometheus, with those of the Go
// runtime.
func newPage() (sdkmetric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(collectors.NewGoCollector()); err != nil {
		return nil, nil, fmt.Errorf("register the metrics of the Go runtime: %w", err)
	}
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, nil, fmt.Errorf("open the Prometheus page: %w", err)
	}
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// flushPause is how old the latest export of metrics is before an idle instance
// exports them out of turn. All of them go out each time, so that a slow stream
// of invocations must not do it with each.
const flushPause = 15 * time.Second

// metricExporter takes note of what becomes of the metrics.
type metricExporter struct {
	sdkmetric.Exporter
	exports context.Context
	outage  *outage
	latest  atomic.Int64 // when the latest export began, in nanoseconds
}

// old reports whether the latest export is.
func (e *metricExporter) old(now time.Time) bool {
	return now.UnixNano()-e.latest.Load() >= int64(flushPause)
}

func (e *metricExporter) Export(_ context.Context, all *metricdata.ResourceMetrics) error {
	e.latest.Store(time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(e.exports, exportTime)
	defer cancel()
	err := e.Exporter.Export(ctx, all)
	e.outage.exported(points(all), err)
	return nil // the outage has told
}

// points counts the points of all series.
func points(all *metricdata.ResourceMetrics) int {
	n := 0
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				n += len(data.DataPoints)
			case metricdata.Sum[float64]:
				n += len(data.DataPoints)
			case metricdata.Gauge[float64]:
				n += len(data.DataPoints)
			case metricdata.Histogram[int64]:
				n += len(data.DataPoints)
			case metricdata.Histogram[float64]:
				n += len(data.DataPoints)
			}
		}
	}
	return n
}
