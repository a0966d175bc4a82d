package observe

import (
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Signals are where spans and measurements go. The zero value records nothing.
type Signals struct {
	Tracer  trace.Tracer
	Metrics *telemetry.Metrics // nil measures nothing
	Page    http.Handler       // the metrics in the format of Prometheus; nil if they are not shown
	// Begin is called when an invocation begins. The function that it returns is
	// called when it has ended; with wait it may wait until what was recorded is
	// exported.
	Begin func() (end func(wait bool))
}

// Signals returns where spans and measurements go.
func (t *Telemetry) Signals() (Signals, error) {
	s := Signals{Tracer: t.tracers.Tracer(telemetry.Scope), Page: t.page, Begin: t.begin}
	if t.measures {
		var err error
		if s.Metrics, err = telemetry.NewMetrics(t.meters.Meter(telemetry.Scope), t.prefix); err != nil {
			return Signals{}, fmt.Errorf("metrics: %w", err)
		}
	}
	return s, nil
}

// WithDefaults returns s with a tracer, and a Begin, that do nothing where it has
// none.
func (s Signals) WithDefaults() Signals {
	if s.Tracer == nil {
		s.Tracer = noop.NewTracerProvider().Tracer(telemetry.Scope)
	}
	if s.Begin == nil {
		s.Begin = func() func(bool) { return func(bool) {} }
	}
	return s
}
