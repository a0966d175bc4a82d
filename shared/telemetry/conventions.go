package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

const (
	errorKey  = semconv.ErrorTypeKey
	statusKey = semconv.HTTPResponseStatusCodeKey
)

// conventions are the measurements that the semantic conventions of OpenTelemetry
// name and describe (https://opentelemetry.io/docs/specs/semconv/, version
// 1.43.0: messaging, FaaS and HTTP metrics).
type conventions struct {
	sent           metric.Int64Counter
	consumed       metric.Int64Counter
	clientDuration metric.Float64Histogram
	processed      metric.Float64Histogram
	invocations    metric.Int64Counter
	faults         metric.Int64Counter
	invoked        metric.Float64Histogram
	httpClient     metric.Float64Histogram
	httpServer     metric.Float64Histogram
}

func (b *builder) conventions() conventions {
	return conventions{
		sent:           b.counter("messaging.client.sent.messages", "{message}", "Number of messages producer attempted to send to the broker."),
		consumed:       b.counter("messaging.client.consumed.messages", "{message}", "Number of messages that the application received."),
		clientDuration: b.seconds("messaging.client.operation.duration", "Duration of messaging operation initiated by a producer or consumer client.", short),
		processed:      b.seconds("messaging.process.duration", "Duration of processing operation.", short),
		invocations:    b.counter("faas.invocations", "{invocation}", "Number of successful invocations."),
		faults:         b.counter("faas.errors", "{error}", "Number of invocation errors."),
		invoked:        b.seconds("faas.invoke_duration", "Measures the duration of the function's logic execution.", short),
		httpClient:     b.seconds("http.client.request.duration", "Duration of HTTP client requests.", short),
		httpServer:     b.seconds("http.server.request.duration", "Duration of HTTP server requests.", short),
	}
}

// Sent measures a send of n messages, or events, in one go. errorType is "" for
// one that succeeded.
func (m *Metrics) Sent(ctx context.Context, system, destination string, n int, took time.Duration, errorType string) {
	attrs := failing(errorType, semconv.MessagingSystemKey.String(system),
		semconv.MessagingDestinationName(destination), semconv.MessagingOperationName("send"))
	m.sent.Add(ctx, int64(n), with(attrs...))
	m.clientDuration.Record(ctx, took.Seconds(), with(append(attrs, semconv.MessagingOperationTypeSend)...))
}

// Processed measures an invocation for n messages, or events.
func (m *Metrics) Processed(ctx context.Context, system, destination string, n int, took time.Duration, errorType string) {
	attrs := []attribute.KeyValue{semconv.MessagingSystemKey.String(system),
		semconv.MessagingDestinationName(destination), semconv.MessagingOperationName("process")}
	m.consumed.Add(ctx, int64(n), with(attrs...))
	m.processed.Record(ctx, took.Seconds(), with(failing(errorType, attrs...)...))
}

// Invoked measures an invocation of a function. trigger is faas.trigger: http,
// pubsub or timer.
func (m *Metrics) Invoked(ctx context.Context, function, trigger string, took time.Duration, failed bool) {
	attrs := with(semconv.FaaSName(function), semconv.FaaSTriggerKey.String(trigger))
	if failed {
		m.faults.Add(ctx, 1, attrs)
	} else {
		m.invocations.Add(ctx, 1, attrs)
	}
	m.invoked.Record(ctx, took.Seconds(), attrs)
}

// HTTPServer measures a request that was answered.
func (m *Metrics) HTTPServer(ctx context.Context, method, route string, status int, took time.Duration) {
	m.httpServer.Record(ctx, took.Seconds(), with(semconv.HTTPRequestMethodKey.String(method),
		semconv.HTTPRoute(route), statusKey.Int(status), semconv.URLScheme("http")))
}

// HTTPClient measures a call. status is 0 when there was no answer.
func (m *Metrics) HTTPClient(ctx context.Context, method, address string, port, status int, took time.Duration, errorType string) {
	attrs := failing(errorType, semconv.HTTPRequestMethodKey.String(method), semconv.ServerAddress(address), semconv.ServerPort(port))
	if status != 0 {
		attrs = append(attrs, statusKey.Int(status))
	}
	m.httpClient.Record(ctx, took.Seconds(), with(attrs...))
}

// failing adds error.type where something has failed.
func failing(errorType string, attrs ...attribute.KeyValue) []attribute.KeyValue {
	if errorType != "" {
		attrs = append(attrs, errorKey.String(errorType))
	}
	return attrs
}
