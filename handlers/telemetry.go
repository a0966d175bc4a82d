package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"go.opentelemetry.io/otel"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// openSignals opens what the settings and the variables OTEL_... ask for. It returns
// where spans and measurements go, and what closes that.
func openSignals(b business.Business, s settings.Settings, logger *slog.Logger) (observe.Signals, func(context.Context) error, error) {
	var credential azcore.TokenCredential
	if s.Telemetry.OTLPScope != "" {
		var identities auth.Identities
		var err error
		id := s.Telemetry.OTLPClientID
		if credential, err = identities.Credential(auth.Identity{Managed: id != "", ClientID: id}); err != nil {
			return observe.Signals{}, nil, fmt.Errorf("credential for telemetry: %w", err)
		}
	}
	// What the SDK has to say of itself would go to stderr, each line of which the
	// host takes for an error.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn("telemetry failed", telemetry.KeyError, err)
	}))
	t, err := observe.Open(observe.Config{
		Service: b.Name, Prefix: b.Metrics(),
		TraceFile: s.Telemetry.TraceFile, Prometheus: s.Telemetry.Prometheus, TraceRatio: s.Telemetry.TraceRatio,
		Credential: credential, Scope: s.Telemetry.OTLPScope, Logger: logger,
	})
	if err != nil {
		return observe.Signals{}, nil, err
	}
	out, err := t.Signals()
	if err != nil {
		return observe.Signals{}, nil, errors.Join(err, t.Close(context.Background()))
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

// metricsPath is where the handler itself shows its metrics. The host passes
// nothing on to it but the local one, as /api/metrics: in Azure a scrape would
// meet any of the instances.
const metricsPath = "/metrics"

// withPage adds the page of the metrics, if there is one.
func withPage(page, next http.Handler) http.Handler {
	if page == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == metricsPath {
			page.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// observed says what is recorded of the functions.
func observed(functions []function, s settings.Settings) []observe.Function {
	names := strings.NewReplacer("%EVENTHUB_NAME%", s.EventHub, "%TRANSACTIONS_QUEUE%", s.TransactionsQueue,
		"%COMPENSATIONS_QUEUE%", s.CompensationsQueue, "%NOTIFICATIONS_QUEUE%", s.NotificationsQueue)
	out := make([]observe.Function, len(functions))
	for i, f := range functions {
		out[i] = observe.Function{
			Name: f.name, Accepts: f.name == "Ingest", Quiet: f.anonymous, Ours: slices.Contains(f.roles, auth.Scheduler),
			Source: observe.Source{Destination: names.Replace(f.source)},
		}
		switch f.trigger {
		case eventHubTrigger:
			out[i].Source.System, out[i].Source.Group = observe.EventHubs, s.ConsumerGroup
		case serviceBusTrigger:
			out[i].Source.System = observe.ServiceBus
		}
	}
	return out
}
