// Package telemetry is how the handler reports what it does: one logger, one
// set of keys, and the trace context that travels with a transaction.
//
// Log lines go to stdout as JSON, one a line: the Functions host takes each
// line of stdout for an Information and each of stderr for an Error, and cannot
// tell the line's invocation (reference: the host's console log service). So
// the logger adds what the context carries.
//
// Spans and metrics come from OpenTelemetry. This package needs only its API;
// package observe records the functions with it, and knows where all that goes.
//
// Reading order: telemetry.go (the log), trace.go (what travels), metrics.go
// (measurements of transactions), conventions.go (the metrics of
// OpenTelemetry's semantic conventions: messaging, FaaS, HTTP), observe.
// docs/telemetry.md says what is recorded, and its cost.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// The keys of attributes. Nothing is logged under another name for these.
const (
	KeyTransaction = "transaction.id"
	KeyOperation   = "operation.id"
	KeyStep        = "step"
	KeyAttempt     = "attempt"
	KeyState       = "state"
	KeyInvocation  = "invocation.id"
	KeyFunction    = "function"
	KeyMessage     = "message.id"
	KeyQueue       = "queue"
	KeyPartition   = "partition"
	KeySequence    = "sequence.number"
	KeyDelivery    = "delivery.count"
	KeyDuration    = "duration.ms"
	KeyStatus      = "http.status"
	KeyMethod      = "http.method"
	KeyPath        = "http.path"
	KeyTrace       = "trace.id"
	KeySpan        = "span.id"
	KeyReason      = "reason"
	KeySource      = "source"
	KeyError       = "error"
)

// NewLogger returns a logger that writes JSON lines of at least that level to
// w, in UTC, with the attributes and the trace that the context of a call
// carries. It is safe for concurrent use.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	json := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: inUTC})
	return slog.New(carrier{json})
}

func inUTC(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

type attrsKey struct{}

// With returns a context whose log lines carry these attributes, after those
// that it carries already.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, attrsKey{}, append(slices.Clip(carried(ctx)), attrs...))
}

func carried(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}

// carrier adds what the context carries to each record, but for what the record
// tells itself: no key is there twice.
type carrier struct{ slog.Handler }

func (c carrier) Handle(ctx context.Context, r slog.Record) error {
	attrs := carried(ctx)
	span := trace.SpanContextFromContext(ctx)
	if len(attrs) == 0 && !span.IsValid() {
		return c.Handler.Handle(ctx, r)
	}
	given := map[string]bool{} // by the caller, who knows best
	r.Attrs(func(a slog.Attr) bool { given[a.Key] = true; return true })
	r = r.Clone()
	for _, a := range attrs {
		if !given[a.Key] {
			r.AddAttrs(a)
		}
	}
	if span.IsValid() {
		r.AddAttrs(slog.String(KeyTrace, span.TraceID().String()), slog.String(KeySpan, span.SpanID().String()))
	}
	return c.Handler.Handle(ctx, r)
}

func (c carrier) WithAttrs(attrs []slog.Attr) slog.Handler {
	return carrier{c.Handler.WithAttrs(attrs)}
}

func (c carrier) WithGroup(name string) slog.Handler { return carrier{c.Handler.WithGroup(name)} }
