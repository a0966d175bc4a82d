package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Scope names the handler's own code as the source of spans and metrics. Of which
// business they are the service's name tells.
const Scope = "handler"

// TraceParentKey is the name under which a trace context travels: the header of
// HTTP (W3C Trace Context, section 3.2) and the application property of
// messages and events.
const TraceParentKey = "traceparent"

// w3c reads and writes trace contexts.
var w3c propagation.TraceContext

// field is a carrier of a traceparent alone: a message has no room for more.
type field string

func (f *field) Get(key string) string {
	if key == TraceParentKey {
		return string(*f)
	}
	return ""
}

func (f *field) Set(key, value string) {
	if key == TraceParentKey {
		*f = field(value)
	}
}

func (f *field) Keys() []string { return []string{TraceParentKey} }

// Remote returns a context whose next span goes on with the trace of that
// traceparent. One that can't be read changes nothing: a caller's bad header is
// no reason to refuse its request.
func Remote(ctx context.Context, traceparent string) context.Context {
	f := field(traceparent)
	return w3c.Extract(ctx, &f)
}

// FromHeader is Remote for the headers of a request, traceparent and tracestate.
func FromHeader(ctx context.Context, h http.Header) context.Context {
	return w3c.Extract(ctx, propagation.HeaderCarrier(h))
}

// FromHost is FromHeader for an event. That the host does not sample its span says
// nothing: without a listener of its own all its spans are marked so
// (azure-functions-host, with .NET's HttpClient), and a sampler that goes by the
// parent would drop every span of ours.
func FromHost(ctx context.Context, h http.Header) context.Context {
	ctx = FromHeader(ctx, h)
	if host := trace.SpanContextFromContext(ctx); host.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, host.WithTraceFlags(host.TraceFlags().WithSampled(true)))
	}
	return ctx
}

// ToHeader writes the trace context of ctx into the headers of a request.
func ToHeader(ctx context.Context, h http.Header) {
	w3c.Inject(ctx, propagation.HeaderCarrier(h))
}

// SpanContext reads a traceparent; the result is not valid if it can't be read.
func SpanContext(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(Remote(context.Background(), traceparent))
}

// TraceParent returns the traceparent of ctx, "" if it carries none.
func TraceParent(ctx context.Context) string {
	var f field
	w3c.Inject(ctx, &f)
	return string(f)
}

// Rooted returns a context that has a trace: ctx, or one with a trace of its
// own. It is for a process that records no spans, whose log lines and messages
// are to be told apart all the same.
func Rooted(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled}
	// It never fails (crypto/rand ends the program instead), and gives zeros
	// alone, which are no id, once in 2^64.
	rand.Read(c.TraceID[:])
	rand.Read(c.SpanID[:])
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(c))
}

// Start begins a span below the one that ctx carries, where that one is
// recorded. Without a span in ctx nothing is recorded.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}

// Continue begins a span for one of the many things that the span of ctx is for: in
// the trace of its own that traceparent names, with a link to that span.
func Continue(ctx context.Context, name, traceparent string) (context.Context, trace.Span) {
	of := trace.SpanFromContext(ctx)
	return of.TracerProvider().Tracer(Scope).Start(Remote(ctx, traceparent), name,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(trace.Link{SpanContext: of.SpanContext()}))
}

// Link has the span of ctx refer to another trace; to its own, or to none, it
// does not.
func Link(ctx context.Context, traceparent string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if other := SpanContext(traceparent); other.IsValid() && other.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: other})
	}
}

// ErrorType names what kind of error it is, in few words that are known before:
// for error.type of spans and metrics, which must not have the error's text.
func ErrorType(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return failure.KindOf(err).String()
}

// Fail marks a span as failed. The text of the error stays in the log: it may
// have parts of what a client has sent.
func Fail(span trace.Span, errorType string) {
	if errorType == "" {
		return
	}
	span.SetAttributes(attribute.String("error.type", errorType))
	span.SetStatus(codes.Error, "")
}
