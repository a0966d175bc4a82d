package backendclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// record begins the span of an attempt, one that no call comes of included, and
// returns what ends it. A call that is no step's has the name of its method.
func (g *Guard) record(ctx context.Context, a engine.Attempt) (context.Context, func(workflow.Outcome)) {
	name := a.Call.Method
	switch {
	case a.Undo:
		name = "undo " + a.Step
	case a.Step != "":
		name = "step " + a.Step
	}
	ctx, span := telemetry.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(attribute.String(telemetry.KeyTransaction, a.TransactionID), attribute.String("backend", a.Call.Backend))
		if a.Step != "" {
			span.SetAttributes(attribute.String(telemetry.KeyOperation, a.OperationID), attribute.String(telemetry.KeyStep, a.Step),
				attribute.Int(telemetry.KeyAttempt, a.Number))
		}
	}
	return ctx, func(o workflow.Outcome) {
		verdict := verdictOf(a, o)
		if span.IsRecording() {
			span.SetAttributes(attribute.String("outcome", verdict), attribute.String("effect", o.Effect.String()))
			if o.Retry != workflow.RetryNone {
				telemetry.Fail(span, verdict)
			}
		}
		span.End()
		if a.Step != "" {
			g.metrics.Step(ctx, a.Step, verdict, a.Number)
		}
	}
}

// verdictOf names what came of an attempt, as far as it alone tells: an answer
// may still be rejected for what is in it.
func verdictOf(a engine.Attempt, o workflow.Outcome) string {
	verdict := "unknown" // it may have been done
	switch {
	case o.Retry == workflow.RetryNone && a.Undo:
		return "undone"
	case o.Retry == workflow.RetryNone:
		return "succeeded"
	case o.Retry == workflow.RetryNever && a.Undo && o.Type == workflow.TypeCannotUndo:
		verdict = "too_late"
	case o.Retry == workflow.RetryNever:
		verdict = "rejected"
	case o.ShutOut():
		verdict = "forbidden"
	case o.Effect == workflow.EffectNo:
		verdict = "unavailable"
	}
	if a.Undo {
		return "undo_" + verdict
	}
	return verdict
}

// backend is where a backend is.
type backend struct {
	base string // the URL without a slash at the end
	host string
	port int
}

func backendAt(base string, u *url.URL) backend {
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return backend{base, u.Hostname(), port}
}

// called records a call as one of an HTTP client, on the span of its attempt. Its
// URL is not recorded: it has what clients call their things.
func (c *Client) called(ctx context.Context, method string, b backend, began time.Time, o workflow.Outcome) {
	failed := ""
	switch {
	case o.Status == 0:
		failed = o.Type
	case o.Status >= http.StatusBadRequest:
		failed = strconv.Itoa(o.Status)
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.ServerAddress(b.host), semconv.ServerPort(b.port))
		if o.Status != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCode(o.Status))
		}
	}
	c.cfg.Metrics.HTTPClient(ctx, method, b.host, b.port, o.Status, time.Since(began), failed)
}
