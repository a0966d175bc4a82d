package host

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// hostSpan returns the traceparent that goes with an event: that of the span
// which the real host has for each invocation, in the trace of a single message
// if it carries one, otherwise in a trace of its own. With telemetryMode
// OpenTelemetry .NET's HttpClient writes it into the call of the handler
// (Microsoft Learn, "Use OpenTelemetry with Azure Functions", and the host's
// DefaultHttpWorkerService). The span itself is recorded nowhere here, and so it
// is marked as not sampled, as in the real host without a listener.
func hostSpan(message string) string {
	ctx := telemetry.Rooted(context.Background())
	if from := telemetry.SpanContext(message); from.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, from.WithSpanID(trace.SpanContextFromContext(ctx).SpanID()))
	}
	span := trace.SpanContextFromContext(ctx).WithTraceFlags(0)
	return telemetry.TraceParent(trace.ContextWithSpanContext(ctx, span))
}
