// Package observe records what the handler does, in spans and metrics: the
// invocations of its functions, and their effects. It sends them by OTLP over
// HTTP to a collector or to Azure Monitor, as JSON lines to a file, to readers of
// the Prometheus page, or nowhere. Only this package uses the OpenTelemetry SDK;
// all others use its API.
//
// Exports never delay or fail the handler's work: they run in the background,
// from bounded queues. Items that find no room or cannot be delivered are
// dropped and counted.
//
// Reading order: signals.go, invocations.go and effects.go (what is recorded);
// export.go, spans.go, metrics.go, otlp.go and file.go (where it goes), outage.go
// (what is lost), flush.go (when it goes).
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Config says where spans and metrics go, besides the variables OTEL_... that
// the SDK reads from the environment itself: the endpoints of OTLP, the name of
// the service, the limits of batches. OTEL_TRACES_SAMPLER is not among them: since
// 4.1048 the Functions host reads it, with values that this SDK doesn't know
// (Azure/azure-functions-host, pull request 11568).
type Config struct {
	Service    string // the service's name, unless OTEL_SERVICE_NAME or the site gives it another
	Prefix     string // what the names of the handler's metrics begin with, without the dot
	TraceFile  string // spans as lines of OTLP in JSON are appended to it; "" is no file
	Prometheus bool   // Page shows the metrics
	// TraceRatio is the part of the traces that is recorded, from 0 for none to 1
	// for all. Which ones follows from the trace's id, so that all handlers record
	// the same ones, whole; what a caller or the host has decided for itself is not
	// asked.
	TraceRatio float64
	// Credential gives the token for Scope that goes with each export by OTLP;
	// nil is no token.
	Credential azcore.TokenCredential
	Scope      string
	// Transport is the HTTP transport for exports with a token; nil is the
	// default one.
	Transport http.RoundTripper
	Logger    *slog.Logger
}

// Telemetry holds the providers and what is behind them. It is safe for
// concurrent use. Close must be called.
type Telemetry struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	prefix  string // of the names of metrics
	page    http.Handler
	flusher *flusher
	outages []*outage // one per exporter
	// closers stop the providers, the last first.
	closers []func(context.Context) error
	// exports is the context of all exports. It ends with Close.
	exports context.Context
	end     context.CancelFunc
}

// Open makes the providers. Where nothing is configured they record nothing. The
// error is about the configuration: that a collector is out of reach is none.
func Open(c Config) (*Telemetry, error) {
	t := &Telemetry{tracers: tracenoop.NewTracerProvider(), meters: metricnoop.NewMeterProvider(), prefix: c.Prefix}
	t.exports, t.end = context.WithCancel(context.Background())
	t.flusher = newFlusher(nil)
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return t, nil
	}
	about, err := resourceOf(c.Service)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	flushMetrics, err := t.openMetrics(c, about)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), t.Close(context.Background()))
	}
	flushSpans, err := t.openSpans(c, about)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), t.Close(context.Background()))
	}
	if err := t.countDropped(); err != nil {
		return nil, errors.Join(err, t.Close(context.Background()))
	}
	if flushSpans != nil || flushMetrics != nil {
		t.flusher = newFlusher(func() { both(t.exports, flushSpans, flushMetrics) })
	}
	return t, nil
}

// begin is called when an invocation begins. The function that it returns is
// called when it has ended; if no other runs then, what was recorded is
// exported at once, or a second after the last time, since the platform may
// freeze an idle instance. With wait the function returns when that is done, or
// after FlushTime: the answer to the platform is still to be given, and behind it
// nothing is sure to run.
func (t *Telemetry) begin() (end func(wait bool)) {
	t.flusher.begin()
	return t.flusher.end
}

// Close exports what is left and stops. It gives up when ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	t.flusher.close()
	// The providers are not given ctx: they would not stop their goroutines once it
	// has ended. What they wait for, the exports, ends with it.
	stop := context.AfterFunc(ctx, t.end)
	defer stop()
	defer t.end()
	var errs []error
	for _, stop := range slices.Backward(t.closers) {
		errs = append(errs, stop(context.WithoutCancel(ctx)))
	}
	t.flusher.wait()
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close telemetry: %w", err)
	}
	return nil
}

// resourceOf describes this process. What the environment says wins
// (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES). The variables of the site are
// described on Microsoft Learn, "Environment variables and app settings in Azure
// App Service".
func resourceOf(service string) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{semconv.ServiceInstanceID(uuid.NewString())}
	if site := os.Getenv("WEBSITE_SITE_NAME"); site != "" {
		service = site
		attrs = append(attrs, semconv.CloudProviderAzure, semconv.CloudPlatformAzureFunctions)
		if region := os.Getenv("REGION_NAME"); region != "" {
			attrs = append(attrs, semconv.CloudRegion(region))
		}
		if id := os.Getenv("WEBSITE_INSTANCE_ID"); id != "" {
			attrs = append(attrs, semconv.FaaSInstance(id))
		}
	}
	attrs = append(attrs, semconv.ServiceName(service))
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	return about, nil
}

// openSpans makes the provider of spans if they go anywhere, and returns what
// exports them now.
func (t *Telemetry) openSpans(c Config, about *resource.Resource) (func(context.Context), error) {
	var processors []sdktrace.TracerProviderOption
	add := func(e sdktrace.SpanExporter) {
		processors = append(processors, sdktrace.WithSpanProcessor(newSpans(t.exports, e, t.newOutage("traces", c.Logger))))
	}
	if endpoint("TRACES") {
		e, err := otlpSpans(c)
		if err != nil {
			return nil, err
		}
		add(e)
	}
	if c.TraceFile != "" {
		e, err := fileSpans(c.TraceFile)
		if err != nil {
			return nil, err
		}
		add(e)
	}
	if processors == nil {
		return nil, nil
	}
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit = max(limits.LinkCountLimit, maxLinks)
	// The SDK reads it all the same, and complains of the host's values.
	if err := os.Unsetenv("OTEL_TRACES_SAMPLER"); err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(append(processors, sdktrace.WithResource(about), sdktrace.WithSampler(sampler(c.TraceRatio)), sdktrace.WithRawSpanLimits(limits))...)
	t.tracers = provider
	t.closers = append(t.closers, provider.Shutdown)
	return func(ctx context.Context) { _ = provider.ForceFlush(ctx) }, nil // what fails is told by the exporter
}

// sampler records a part of the traces, and all of a trace's spans in this
// handler once the first of them is.
func sampler(ratio float64) sdktrace.Sampler {
	part := sdktrace.TraceIDRatioBased(ratio)
	return sdktrace.ParentBased(part, sdktrace.WithRemoteParentSampled(part), sdktrace.WithRemoteParentNotSampled(part))
}

// maxLinks is how many links a span has at most: one per event of a batch, which
// host.json bounds (maxEventBatchSize), with as many to spare.
const maxLinks = 400

// openMetrics makes the provider of meters if anybody reads them, and returns
// what exports them now.
func (t *Telemetry) openMetrics(c Config, about *resource.Resource) (func(context.Context), error) {
	var readers []sdkmetric.Reader
	var flush func(context.Context)
	if endpoint("METRICS") {
		e, err := otlpMetrics(c)
		if err != nil {
			return nil, err
		}
		watched := &metricExporter{Exporter: e, exports: t.exports, outage: t.newOutage("metrics", c.Logger)}
		reader := sdkmetric.NewPeriodicReader(watched)
		readers = append(readers, reader)
		flush = func(ctx context.Context) {
			if watched.old(time.Now()) {
				_ = reader.ForceFlush(ctx) // what fails is told by the exporter
			}
		}
	}
	if c.Prometheus {
		reader, page, err := newPage()
		if err != nil {
			return nil, err
		}
		readers, t.page = append(readers, reader), page
	}
	if readers == nil {
		return nil, nil
	}
	provider := newMeterProvider(readers, about)
	t.meters = provider
	t.closers = append(t.closers, provider.Shutdown)
	return flush, nil
}

func (t *Telemetry) newOutage(signal string, logger *slog.Logger) *outage {
	o := &outage{signal: signal, logger: logger}
	t.outages = append(t.outages, o)
	return o
}

// countDropped makes what is lost on the way out a metric of its own.
func (t *Telemetry) countDropped() error {
	_, err := t.meters.Meter(telemetry.Scope).Int64ObservableCounter(t.prefix+".telemetry.dropped",
		metric.WithUnit("{item}"), metric.WithDescription("Spans, and points of metrics, that were dropped instead of exported."),
		metric.WithInt64Callback(func(_ context.Context, observer metric.Int64Observer) error {
			lost := map[string]int64{}
			for _, o := range t.outages {
				lost[o.signal] += o.total.Load()
			}
			for signal, n := range lost {
				observer.Observe(n, metric.WithAttributes(attribute.String("signal", signal)))
			}
			return nil
		}))
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}

// both runs two functions at once; either may be nil.
func both(ctx context.Context, a, b func(context.Context)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a != nil {
			a(ctx)
		}
	}()
	if b != nil {
		b(ctx)
	}
	<-done
}
