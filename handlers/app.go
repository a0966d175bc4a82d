package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// maxInvocation bounds the body of an event, in bytes: a batch of 200 events
// of 64 KiB in base64 within JSON, with as much again to spare.
const maxInvocation = 64 << 20

// answerGrace is how long an event may go on after its time: what was called
// has to be recorded. It is longer than a save with its repeats.
const answerGrace = 20 * time.Second

// App is the handler with everything behind it. It is safe for concurrent use.
type App struct {
	business  business.Business
	settings  settings.Settings
	logger    *slog.Logger
	now       func() time.Time
	services  services
	events    *customhandler.Events
	readiness *customhandler.Readiness
	writer    *ingest.Writer
	gate      *auth.Gate
	report    *operate.Reporter
	// undeliverable is the port of that name.
	undeliverable func(ctx context.Context, queue string, keep func(context.Context, quarantine.Received) error) (int, error)
	functions     []function
	handler       http.Handler
	// closers release what New has opened, the last first.
	closers []func(context.Context) error
}

// New opens the connections, which connect when they are first used, and puts
// everything together. The error is about the settings; that a service is out
// of reach shows with the first call, and in the function Ready. Close must be
// called.
func New(b business.Business, s settings.Settings, logger *slog.Logger) (*App, error) {
	signals, closeTelemetry, err := openSignals(b, s, logger)
	if err != nil {
		return nil, err
	}
	adapters, err := openAdapters(b, s, logger, signals)
	if err != nil {
		return nil, errors.Join(err, closeTelemetry(context.Background()))
	}
	app, err := assemble(b, s, logger, adapters.ports)
	if err != nil {
		return nil, errors.Join(err, adapters.close(context.Background()), closeTelemetry(context.Background()))
	}
	app.closers = append(app.closers, adapters.close, closeTelemetry)
	return app, nil
}

// assemble builds the app on its ports, which stay their owner's.
func assemble(b business.Business, s settings.Settings, logger *slog.Logger, p ports) (*App, error) {
	p.report = cmp.Or(p.report, operate.NewReporter(telemetry.Process(), p.now))
	p.producer, p.sender = p.signals.Producer(p.producer, s.EventHub), p.report.Sends(p.signals.Sender(p.sender))
	limits := s.Writer
	limits.Timeout = s.Budgets.Accept
	newWriter := func(to ingest.Producer, of shard.Number) *ingest.Writer {
		measures := []func(ingest.Flush){p.signals.Flushed(limits, of)}
		if of == s.Shard { // other shards' apps tell of theirs
			measures = append(measures, p.report.Flushed)
		}
		return ingest.NewWriter(to, limits, observeFlush(logger, measures...))
	}
	writer := newWriter(p.producer, s.Shard)
	p.report.Buffer = writer.Waiting
	services, err := newServices(b, s, logger, p, writer, newWriter)
	if err != nil {
		return nil, errors.Join(err, writer.Close(context.Background()))
	}
	gate, err := openGate(s, logger, p.now)
	if err != nil {
		return nil, errors.Join(err, writer.Close(context.Background()))
	}
	app := &App{
		business: b, settings: s, logger: logger, now: p.now, services: services, writer: writer, gate: gate, report: p.report, undeliverable: p.undeliverable,
	}
	if s.Functions.Has("Operations") {
		p.checks = append(slices.Clip(p.checks), customhandler.Check{Name: "status", Ask: services.operate.Well, Partial: true})
	}
	others := func(context.Context) []customhandler.Check { return nil }
	if app.leads() {
		others, err = services.shards.Checks, p.signals.Metrics.ShardMap(services.shards.Age)
	}
	app.readiness = customhandler.NewReadiness(func(ctx context.Context) []customhandler.Check { return slices.Concat(p.checks, others(ctx)) }, p.now, logger)
	backends, failed := openBackendsOf(b, s, logger, p)
	if err = errors.Join(err, failed); err != nil {
		return nil, errors.Join(err, app.Close(context.Background()))
	}
	app.functions = app.running(slices.Concat(app.table(), app.backendFunctions(backends)))
	observer := p.signals.Invocations(observed(app.functions, s), p.now)
	app.events = customhandler.NewEvents(customhandler.EventConfig{
		Timeout: s.Budgets.Invocation, Grace: min(answerGrace, (s.Budgets.FunctionTimeout-s.Budgets.Invocation)/2),
		MaxBody: maxInvocation, Concurrency: s.EventConcurrency, Observer: observer, Logger: logger,
	})
	app.handler = withPage(p.signals.Page, app.router(observer))
	app.closers = append(app.closers, app.follow(p), services.shards.Close, writer.Close, func(context.Context) error { gate.Close(); return nil })
	return app, nil
}

// clock returns the time with an offset: what is stored, and held against the
// times that other instances have stored.
func clock(offset time.Duration) func() time.Time {
	if offset == 0 {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(offset) }
}

// leads reports whether clients' requests come here, for all shards.
func (a *App) leads() bool {
	return a.settings.Functions.Has("Ingest") || a.settings.Functions.Has("Progress")
}

// follow keeps the map of the shards fresh, where there is somebody to ask for it, and
// has the instance tell of itself. It returns what ends that.
func (a *App) follow(p ports) func(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if a.leads() { // others ask seldom
		running.Go(func() { a.services.shards.Run(ctx) })
	}
	if a.settings.CosmosDB.Used() {
		running.Go(func() { p.report.Run(ctx, p.told, a.logger) })
	}
	return func(context.Context) error {
		cancel()
		running.Wait()
		return nil
	}
}

// ServeHTTP answers what the host sends.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Close waits for the events that still run and for what waits in the writer,
// and closes the connections. No new request may come in. It gives up when ctx
// ends.
func (a *App) Close(ctx context.Context) error {
	errs := []error{a.events.Wait(ctx)}
	for _, close := range a.closers {
		errs = append(errs, close(ctx))
	}
	return errors.Join(errs...)
}

// observeFlush measures the batches, and logs those that the hub did not take.
func observeFlush(logger *slog.Logger, measures ...func(ingest.Flush)) func(ingest.Flush) {
	return func(f ingest.Flush) {
		for _, measure := range measures {
			measure(f)
		}
		if f.Err != nil {
			logger.Warn("batch not acknowledged", "partition", f.Partition, "events", f.Events,
				"duration.ms", f.Took.Milliseconds(), "error", f.Err)
		}
	}
}
