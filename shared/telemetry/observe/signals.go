package observe

import (
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Signals are where spans and measurements go.
type Signals struct {
	Tracer  trace.Tracer
	Metrics *telemetry.Metrics
	Page    http.Handler // the metrics in the format of Prometheus; nil if they are not shown
	// Begin is called when an invocation begins. The function that it returns is
	// called when it has ended; with wait it may wait until what was recorded is
	// exported.
	Begin func() (end func(wait bool))
}

// Signals returns where spans and measurements go.
func (t *Telemetry) Signals() (Signals, error) {
	metrics, err := telemetry.NewMetrics(t.meters.Meter(telemetry.Scope), t.prefix)
	if err != nil {
		return Signals{}, fmt.Errorf("metrics: %w", err)
	}
	return Signals{Tracer: t.tracers.Tracer(telemetry.Scope), Metrics: metrics, Page: t.page, Begin: t.begin}, nil
}
