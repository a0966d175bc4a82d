package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

func TestTraceParentTravels(t *testing.T) {
	notSampled := strings.TrimSuffix(parent, "01") + "00"
	for in, want := range map[string]string{
		parent: parent, notSampled: notSampled, "cc" + parent[2:] + "-more": parent,
		"": "", "rubbish": "", parent + "-more": "", strings.ToUpper(parent): "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
	} {
		ctx := telemetry.Remote(context.Background(), in)
		if got := telemetry.TraceParent(ctx); got != want {
			t.Errorf("%q travels as %q, want %q", in, got, want)
		}
		h := http.Header{}
		telemetry.ToHeader(ctx, h)
		if got := h.Get(telemetry.TraceParentKey); got != want {
			t.Errorf("%q goes into the header as %q", in, got)
		}
		if telemetry.SpanContext(in).IsValid() != (want != "") {
			t.Errorf("span context of %q: %v", in, telemetry.SpanContext(in))
		}
	}
}

func TestHeadersCarryTheTraceState(t *testing.T) {
	in := http.Header{"Traceparent": {parent}, "Tracestate": {"vendor=1"}}
	out := http.Header{}
	telemetry.ToHeader(telemetry.FromHeader(context.Background(), in), out)
	if out.Get("Traceparent") != parent || out.Get("Tracestate") != "vendor=1" {
		t.Errorf("got %v", out)
	}
}

func TestRooted(t *testing.T) {
	ctx := telemetry.Rooted(context.Background())
	if !telemetry.SpanContext(telemetry.TraceParent(ctx)).IsSampled() {
		t.Errorf("got %q", telemetry.TraceParent(ctx))
	}
	if telemetry.Rooted(ctx) != ctx {
		t.Error("a trace was replaced by another")
	}
	if again := telemetry.Rooted(context.Background()); telemetry.TraceParent(again) == telemetry.TraceParent(ctx) {
		t.Error("two traces are one")
	}
}

func TestSpansOfAContext(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	if _, span := telemetry.Start(telemetry.Remote(context.Background(), parent), "none"); span.IsRecording() {
		t.Error("recorded without a span to record below")
	}
	ctx, root := provider.Tracer("t").Start(context.Background(), "root")
	below, span := telemetry.Start(ctx, "below", trace.WithSpanKind(trace.SpanKindClient))
	telemetry.Link(below, parent)
	telemetry.Link(below, telemetry.TraceParent(ctx)) // its own trace
	telemetry.Link(below, "")
	telemetry.Fail(span, "timeout")
	telemetry.Fail(root, "")
	span.End()
	root.End()
	got := spans.Ended()
	if len(got) != 2 || got[0].Parent().SpanID() != root.SpanContext().SpanID() || got[0].SpanKind() != trace.SpanKindClient {
		t.Fatalf("got %v", got)
	}
	if links := got[0].Links(); len(links) != 1 || links[0].SpanContext.TraceID().String() != parent[3:35] {
		t.Errorf("links %v", links)
	}
	if got[0].Status().Code.String() != "Error" || got[0].Status().Description != "" || got[1].Status().Code.String() != "Unset" {
		t.Errorf("status %v, %v", got[0].Status(), got[1].Status())
	}
}

func TestErrorType(t *testing.T) {
	for want, err := range map[string]error{
		"":          nil,
		"transient": errors.New("x"),
		"conflict":  fmt.Errorf("save: %w", failure.New(failure.Conflict, "replace", "t", nil)),
		"timeout":   failure.New(failure.Transient, "read", "t", context.DeadlineExceeded),
		"cancelled": fmt.Errorf("x: %w", context.Canceled),
	} {
		if got := telemetry.ErrorType(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
