package observe

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Function is what there is to know of a function whose invocations are recorded.
type Function struct {
	Name    string
	Source  Source // of its events
	Accepts bool   // it is Ingest: a 202 is an accepted request
	Quiet   bool   // it is asked all the time, about nothing
	Ours    bool   // its callers are our own: they say for whom they call
}

// Source is where a function's events come from; the zero value is a timer.
type Source struct {
	System      string // messaging.system: EventHubs or ServiceBus
	Destination string // the hub, the queue or the sub-queue
	Group       string // the consumer group of a hub
}

// The systems of sources.
var (
	EventHubs  = semconv.MessagingSystemEventHubs.Value.AsString()
	ServiceBus = semconv.MessagingSystemServiceBus.Value.AsString()
)

// invocations records the invocations of the functions.
type invocations struct {
	Signals
	functions map[string]Function
	now       func() time.Time
}

// Invocations returns what records the invocations of these functions.
func (s Signals) Invocations(functions []Function, now func() time.Time) customhandler.Observer {
	o := &invocations{Signals: s, functions: map[string]Function{}, now: now}
	for _, f := range functions {
		o.functions[f.Name] = f
	}
	return o
}

// Request records a request to an HTTP function. The path is not recorded: it
// has what clients call their things and their accounts.
func (o *invocations) Request(ctx context.Context, r *http.Request, function, route string) (context.Context, func(int)) {
	start, f := time.Now(), o.functions[function]
	noted := &refusalNote{}
	ctx = context.WithValue(ctx, refusalKey{}, noted)
	if f.Quiet {
		return ctx, func(status int) {
			o.Metrics.HTTPServer(ctx, r.Method, route, status, time.Since(start))
		}
	}
	end := o.Begin()
	ctx, span := o.Tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() {
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route), semconv.URLScheme("http"),
			semconv.FaaSName(function), semconv.FaaSTriggerHTTP, semconv.FaaSInvocationID(r.Header.Get(customhandler.InvocationHeader)))
	}
	if f.Ours {
		ctx = About(ctx, r.Header.Get("Transaction-Id"), r.Header.Get("Operation-Id"))
	}
	return ctx, func(status int) {
		took := time.Since(start)
		failed := ""
		if status >= http.StatusInternalServerError || status == 0 {
			failed = noted.or(status)
		}
		if span.IsRecording() {
			span.SetAttributes(semconv.HTTPResponseStatusCode(status))
			telemetry.Fail(span, failed)
		}
		span.End()
		o.Metrics.HTTPServer(ctx, r.Method, route, status, took)
		o.Metrics.Invoked(ctx, function, "http", took, failed != "")
		if f.Accepts {
			o.answered(ctx, operationOf(r.Method), status, noted.or(status), took)
		}
		end(false) // the answer is complete when the handler returns
	}
}

// answered counts what Ingest made of a request.
func (o *invocations) answered(ctx context.Context, operation workflow.OperationKind, status int, errorType string, took time.Duration) {
	if status == http.StatusAccepted {
		o.Metrics.Accepted(ctx, string(operation), took)
		return
	}
	o.Metrics.Refused(ctx, string(operation), status, errorType)
}

// operationOf returns what a request to Ingest asks for.
func operationOf(method string) workflow.OperationKind {
	switch method {
	case http.MethodPatch:
		return workflow.OperationReschedule
	case http.MethodDelete:
		return workflow.OperationCancel
	}
	return workflow.OperationStart
}

// refusalNote is the type of the problem that a request was answered with.
type refusalNote struct{ problem string }

type refusalKey struct{}

// NoteRefusal keeps the type of the problem that a request is answered with, for
// the record of the request.
func NoteRefusal(ctx context.Context, p problem.Problem) {
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

// About says whose the rest of an invocation is: on its span, and on the log
// lines in the context that is returned. What is no id is left out.
func About(ctx context.Context, transactionID, operationID string) context.Context {
	span := trace.SpanFromContext(ctx)
	for _, a := range []slog.Attr{slog.String(telemetry.KeyTransaction, transactionID), slog.String(telemetry.KeyOperation, operationID)} {
		if id := a.Value.String(); problem.ValidID(id) {
			if span.IsRecording() {
				span.SetAttributes(attribute.String(a.Key, id))
			}
			ctx = telemetry.With(ctx, a)
		}
	}
	return ctx
}

// Event records an event. A message goes on with the trace that it carries; the
// host's own span, if it sent one, is linked. A batch belongs to many traces: it
// has a span below the host's, with a link to each.
func (o *invocations) Event(ctx context.Context, i *customhandler.Invocation) (context.Context, func(error)) {
	start := time.Now()
	from := o.functions[i.Function].Source
	end := o.Begin()
	var span trace.Span
	n := 1
	switch from.System {
	case ServiceBus:
		ctx, span = o.message(ctx, i, from)
	case EventHubs:
		ctx, span, n = o.batch(ctx, i, from)
	default:
		ctx, span = o.Tracer.Start(ctx, i.Function, trace.WithAttributes(semconv.FaaSTriggerTimer))
	}
	if span.IsRecording() {
		span.SetAttributes(semconv.FaaSName(i.Function), semconv.FaaSInvocationID(i.ID))
	}
	return ctx, func(err error) {
		took, failed := time.Since(start), telemetry.ErrorType(err)
		telemetry.Fail(span, failed)
		span.End()
		trigger := "timer"
		if from.System != "" {
			trigger = "pubsub"
			o.Metrics.Processed(ctx, from.System, from.Destination, n, took, failed)
		}
		o.Metrics.Invoked(ctx, i.Function, trigger, took, failed != "")
		end(true)
	}
}

// message begins the span of a message.
func (o *invocations) message(ctx context.Context, i *customhandler.Invocation, from Source) (context.Context, trace.Span) {
	if at, err := i.Metadata.Time("EnqueuedTimeUtc"); err == nil {
		o.Metrics.QueueAge(ctx, from.Destination, at, o.now())
	}
	host := trace.SpanContextFromContext(ctx)
	if properties, err := i.Metadata.Object("ApplicationProperties"); err == nil {
		ctx = telemetry.Remote(ctx, traceParentIn(properties))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	if host.IsValid() && !host.Equal(trace.SpanContextFromContext(ctx)) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: host}))
	}
	ctx, span := o.Tracer.Start(ctx, "process "+from.Destination, options...)
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
func (o *invocations) batch(ctx context.Context, i *customhandler.Invocation, from Source) (context.Context, trace.Span, int) {
	times, err := i.Metadata.Times("EnqueuedTimeUtcArray")
	if err == nil && len(times) > 0 {
		o.Metrics.QueueAge(ctx, from.Destination, times[0], o.now())
	}
	ctx, span := o.Tracer.Start(ctx, "process "+from.Destination, trace.WithSpanKind(trace.SpanKindConsumer))
	if !span.IsRecording() {
		return ctx, span, len(times)
	}
	span.SetAttributes(append(processing(from), semconv.MessagingConsumerGroupName(from.Group), semconv.MessagingBatchMessageCount(len(times)))...)
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

func processing(from Source) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(from.System), semconv.MessagingDestinationName(from.Destination),
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
