package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/export"
)

// signals are where spans and measurements go. The zero value records nothing.
type signals struct {
	tracer  trace.Tracer
	metrics *telemetry.Metrics // nil measures nothing
	page    http.Handler       // the metrics for Prometheus; nil if they are not shown
	// begin is export.Telemetry.Begin, or nil.
	begin func() (end func(wait bool))
}

// openTelemetry opens what the settings and the variables OTEL_... ask for.
func openTelemetry(s settings.Settings, logger *slog.Logger) (*export.Telemetry, error) {
	var credential azcore.TokenCredential
	if s.Telemetry.OTLPScope != "" {
		identity := settings.Connection{ClientID: s.Telemetry.OTLPClientID}
		if identity.ClientID != "" {
			identity.Credential = "managedidentity"
		}
		var err error
		if credential, err = newCredential(identity); err != nil {
			return nil, fmt.Errorf("credential for telemetry: %w", err)
		}
	}
	// What the SDK has to say of itself would go to stderr, each line of which the
	// host takes for an error.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn("telemetry failed", telemetry.KeyError, err)
	}))
	return export.Open(export.Config{
		TraceFile: s.Telemetry.TraceFile, Prometheus: s.Telemetry.Prometheus, TraceRatio: s.Telemetry.TraceRatio,
		Credential: credential, Scope: s.Telemetry.OTLPScope, Logger: logger,
	})
}

// openSignals returns where spans and measurements go, and what closes that.
func openSignals(s settings.Settings, logger *slog.Logger) (signals, func(context.Context) error, error) {
	t, err := openTelemetry(s, logger)
	if err != nil {
		return signals{}, nil, err
	}
	out, err := newSignals(t)
	if err != nil {
		return signals{}, nil, errors.Join(err, t.Close(context.Background()))
	}
	return out, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		defer cancel()
		if err := t.Close(ctx); err != nil { // no reason for the handler to have failed
			logger.Warn("the last of the telemetry is lost", telemetry.KeyError, err)
		}
		return nil
	}, nil
}

// closeTime is how long the last export may take when the handler stops.
const closeTime = 5 * time.Second

// newSignals returns where the spans and measurements of t go.
func newSignals(t *export.Telemetry) (signals, error) {
	s := signals{tracer: t.TracerProvider().Tracer(telemetry.Scope), page: t.Page(), begin: t.Begin}
	if t.Measures() {
		var err error
		if s.metrics, err = telemetry.NewMetrics(t.MeterProvider().Meter(telemetry.Scope)); err != nil {
			return signals{}, fmt.Errorf("metrics: %w", err)
		}
	}
	return s, nil
}

func (s signals) withDefaults() signals {
	if s.tracer == nil {
		s.tracer = noop.NewTracerProvider().Tracer(telemetry.Scope)
	}
	if s.begin == nil {
		s.begin = func() func(bool) { return func(bool) {} }
	}
	return s
}

// metricsPath is where the handler itself shows its metrics. The host passes
// nothing on to it but the local one, as /api/metrics: in Azure a scrape would
// meet any of the instances.
const metricsPath = "/metrics"

// withPage adds the page of the metrics, if there is one.
func (s signals) withPage(next http.Handler) http.Handler {
	if s.page == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == metricsPath {
			s.page.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
