package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// observer records the invocations of the functions.
type observer struct {
	signals
	sources map[string]source // of the events, by function
	quiet   map[string]bool   // functions that are asked all the time, about nothing
	ours    map[string]bool   // functions whose callers are our own: they say for whom they call
	now     func() time.Time
}

var _ customhandler.Observer = (*observer)(nil)

// source is where a function's events come from.
type source struct {
	system      string // messaging.system; "" for a timer
	destination string // the hub, the queue or the sub-queue
	group       string // the consumer group of a hub
}

func newObserver(s signals, q settings.Settings, functions []function, now func() time.Time) *observer {
	o := &observer{signals: s, sources: map[string]source{}, quiet: map[string]bool{}, ours: map[string]bool{}, now: now}
	names := strings.NewReplacer("%EVENTHUB_NAME%", q.EventHub, "%TRANSACTIONS_QUEUE%", q.TransactionsQueue,
		"%COMPENSATIONS_QUEUE%", q.CompensationsQueue, "%NOTIFICATIONS_QUEUE%", q.NotificationsQueue)
	for _, f := range functions {
		from := source{destination: names.Replace(f.source)}
		switch f.trigger {
		case eventHubTrigger:
			from.system, from.group = semconv.MessagingSystemEventHubs.Value.AsString(), q.ConsumerGroup
		case serviceBusTrigger:
			from.system = semconv.MessagingSystemServiceBus.Value.AsString()
		}
		o.sources[f.name] = from
		o.quiet[f.name] = f.anonymous
		o.ours[f.name] = slices.Contains(f.roles, auth.Scheduler)
	}
	return o
}

// Request records a request to an HTTP function. The path is not recorded: it
// has what clients call their things and their accounts.
func (o *observer) Request(ctx context.Context, r *http.Request, function, route string) (context.Context, func(int)) {
	start := time.Now()
	noted := &refusalNote{}
	ctx = context.WithValue(ctx, refusalKey{}, noted)
	if o.quiet[function] {
		return ctx, func(status int) {
			o.metrics.HTTPServer(ctx, r.Method, route, status, time.Since(start))
		}
	}
	end := o.begin()
	ctx, span := o.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() {
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route), semconv.URLScheme("http"),
			semconv.FaaSName(function), semconv.FaaSTriggerHTTP, semconv.FaaSInvocationID(r.Header.Get(customhandler.InvocationHeader)))
	}
	if o.ours[function] {
		ctx = about(ctx, r.Header.Get("Transaction-Id"), r.Header.Get("Operation-Id"))
	}
	return ctx, func(status int) {
		took := time.Since(start)
		failed := ""
		if status >= http.StatusInternalServerError || status == 0 {
			failed = noted.or(status)
		}
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		telemetry.Fail(span, failed)
		span.End()
		o.metrics.HTTPServer(ctx, r.Method, route, status, took)
		o.metrics.Invoked(ctx, function, "http", took, failed != "")
		if function == "Ingest" {
			o.answered(ctx, operationOf(r.Method), status, noted.or(status), took)
		}
		end(false) // the answer is complete when the handler returns
	}
}

// answered counts what Ingest made of a request.
func (o *observer) answered(ctx context.Context, operation string, status int, errorType string, took time.Duration) {
	if status == http.StatusAccepted {
		o.metrics.Accepted(ctx, operation, took)
		return
	}
	o.metrics.Refused(ctx, operation, status, errorType)
}

// operationOf returns what a request to Ingest asks for.
func operationOf(method string) string {
	switch method {
	case http.MethodPatch:
		return "reschedule"
	case http.MethodDelete:
		return "cancel"
	}
	return "start"
}

// refusalNote is the type of the problem that a request was answered with.
type refusalNote struct{ problem string }

type refusalKey struct{}

// noteRefusal keeps the type of a problem for the one who records the request.
func noteRefusal(ctx context.Context, p problem.Problem) {
	if noted, ok := ctx.Value(refusalKey{}).(*refusalNote); ok {
		noted.problem = p.Type
	}
}

// or returns the problem's type, or the status where no problem was noted.
func (n *refusalNote) or(status int) string {
	if n.problem != "" {
		return n.problem
	}
	return strconv.Itoa(status)
}

// describe says whose transaction a span belongs to. What is no id is left out.
func describe(span trace.Span, transactionID, operationID string) {
	if problem.ValidID(transactionID) {
		span.SetAttributes(attribute.String(telemetry.KeyTransaction, transactionID))
	}
	if problem.ValidID(operationID) {
		span.SetAttributes(attribute.String(telemetry.KeyOperation, operationID))
	}
}

// about says whose the rest of an invocation is: on its span, and on the log
// lines in the context that is returned. What is no id is left out.
func about(ctx context.Context, transactionID, operationID string) context.Context {
	describe(trace.SpanFromContext(ctx), transactionID, operationID)
	if problem.ValidID(transactionID) {
		ctx = telemetry.With(ctx, slog.String(telemetry.KeyTransaction, transactionID))
	}
	if problem.ValidID(operationID) {
		ctx = telemetry.With(ctx, slog.String(telemetry.KeyOperation, operationID))
	}
	return ctx
}

// Event records an event. A message goes on with the trace that it carries; the
// host's own span, if it sent one, is linked. A batch belongs to many traces: it
// has a span below the host's, with a link to each.
func (o *observer) Event(ctx context.Context, i *customhandler.Invocation) (context.Context, func(error)) {
	start := time.Now()
	from := o.sources[i.Function]
	end := o.begin()
	var span trace.Span
	n := 1
	switch from.system {
	case semconv.MessagingSystemServiceBus.Value.AsString():
		ctx, span = o.message(ctx, i, from)
	case semconv.MessagingSystemEventHubs.Value.AsString():
		ctx, span, n = o.batch(ctx, i, from)
	default:
		ctx, span = o.tracer.Start(ctx, i.Function, trace.WithAttributes(semconv.FaaSTriggerTimer))
	}
	span.SetAttributes(semconv.FaaSName(i.Function), semconv.FaaSInvocationID(i.ID))
	return ctx, func(err error) {
		took, failed := time.Since(start), telemetry.ErrorType(err)
		telemetry.Fail(span, failed)
		span.End()
		trigger := "timer"
		if from.system != "" {
			trigger = "pubsub"
			o.metrics.Processed(ctx, from.system, from.destination, n, took, failed)
		}
		o.metrics.Invoked(ctx, i.Function, trigger, took, failed != "")
		end(true)
	}
}

// message begins the span of a message.
func (o *observer) message(ctx context.Context, i *customhandler.Invocation, from source) (context.Context, trace.Span) {
	if at, err := i.Metadata.Time("EnqueuedTimeUtc"); err == nil {
		o.metrics.QueueAge(ctx, from.destination, at, o.now())
	}
	host := trace.SpanContextFromContext(ctx)
	if properties, err := i.Metadata.Object("ApplicationProperties"); err == nil {
		ctx = telemetry.Remote(ctx, traceParentIn(properties))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if host.IsValid() && !host.Equal(trace.SpanContextFromContext(ctx)) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: host}))
	}
	ctx, span := o.tracer.Start(ctx, "process "+from.destination, options...)
	id, err := i.Metadata.String("MessageId")
	if err == nil { // it names the transaction or the operation, also where the message can't be read
		ctx = telemetry.With(ctx, slog.String(telemetry.KeyMessage, id))
	}
	if span.IsRecording() {
		span.SetAttributes(processing(from)...)
		if err == nil {
			span.SetAttributes(semconv.MessagingMessageID(id))
		}
		if n, err := i.Metadata.Int("DeliveryCount"); err == nil {
			span.SetAttributes(semconv.MessagingServiceBusMessageDeliveryCount(int(n)))
		}
	}
	return ctx, span
}

// batch begins the span of a batch of events, and returns how many there are.
func (o *observer) batch(ctx context.Context, i *customhandler.Invocation, from source) (context.Context, trace.Span, int) {
	times, err := i.Metadata.Times("EnqueuedTimeUtcArray")
	if err == nil && len(times) > 0 {
		o.metrics.QueueAge(ctx, from.destination, times[0], o.now())
	}
	ctx, span := o.tracer.Start(ctx, "process "+from.destination, trace.WithSpanKind(trace.SpanKindConsumer))
	if !span.IsRecording() {
		return ctx, span, len(times)
	}
	span.SetAttributes(append(processing(from), semconv.MessagingConsumerGroupName(from.group), semconv.MessagingBatchMessageCount(len(times)))...)
	if partition, err := i.Metadata.Object("PartitionContext"); err == nil {
		if id, err := customhandler.Metadata(partition).String("PartitionId"); err == nil {
			span.SetAttributes(semconv.MessagingDestinationPartitionID(id))
		}
	}
	if properties, err := i.Metadata.Objects("PropertiesArray"); err == nil {
		for _, p := range properties {
			link(span, traceParentIn(p))
		}
	}
	return ctx, span, len(times)
}

// link adds a link to another trace, if that one is recorded.
func link(span trace.Span, traceparent string) {
	if to := telemetry.SpanContext(traceparent); to.IsSampled() {
		span.AddLink(trace.Link{SpanContext: to})
	}
}

func processing(from source) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(from.system), semconv.MessagingDestinationName(from.destination),
		semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"), semconv.FaaSTriggerPubSub,
	}
}

// traceParentIn returns the trace context in application properties, "" if there
// is none.
func traceParentIn(properties map[string]json.RawMessage) string {
	var text string
	if json.Unmarshal(properties[telemetry.TraceParentKey], &text) != nil {
		return ""
	}
	return text
}
