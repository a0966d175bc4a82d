package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// Metrics measures: what is counted and timed, under which names, in which units,
// and with which attributes. Attributes have few values: never an id, nor anything
// that a client has sent. The alerts and the workbook go by these names;
// docs/telemetry.md lists them.
//
// It is safe for concurrent use.
type Metrics struct {
	conventions

	accepted       metric.Int64Counter
	refused        metric.Int64Counter
	acceptDuration metric.Float64Histogram
	batchEvents    metric.Int64Histogram
	batchFill      metric.Float64Histogram
	reached        metric.Float64Histogram
	stepOutcomes   metric.Int64Counter
	stepRetries    metric.Int64Counter
	wakes          metric.Int64Counter
	compensations  metric.Int64Counter
	stuck          metric.Int64Counter
	quarantined    metric.Int64Counter
	lost           metric.Int64Counter
	recognized     metric.Int64Counter
	charge         metric.Float64Counter
	operations     metric.Int64Counter
	throttled      metric.Int64Counter
	queueAge       metric.Float64Histogram
	undoAge        metric.Float64Histogram
	breakerOpen    metric.Float64ObservableGauge
	shardEvents    metric.Int64Counter
	mapVersion     metric.Float64ObservableGauge
	mapAge         metric.Float64ObservableGauge
	meter          metric.Meter
}

// The bounds of the histograms, in their units.
var (
	// short is for calls: what semantic conventions advise for durations, in
	// seconds.
	short = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
	// long is for what may wait in queues or for a backend, up to the day that a
	// transaction has, in seconds.
	long  = metric.WithExplicitBucketBoundaries(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)
	count = metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
	share = metric.WithExplicitBucketBoundaries(0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
)

// NewMetrics returns the measurements of a meter. What no convention names begins
// with the prefix and a dot, such as "drone_delivery". The error joins what is wrong
// with the names.
func NewMetrics(meter metric.Meter, prefix string) (*Metrics, error) {
	standard, b := builder{meter: meter}, builder{meter: meter, prefix: prefix + "."}
	m := &Metrics{
		conventions: standard.conventions(),

		accepted:       b.counter("requests.accepted", "{request}", "Requests answered 202."),
		refused:        b.counter("requests.refused", "{request}", "Requests of Ingest answered with an error."),
		acceptDuration: b.seconds("accept.duration", "Time from a request to its 202.", short),
		batchEvents:    b.whole("batch.events", "{event}", "Events in a batch to the hub.", count),
		batchFill:      b.histogram("batch.fill", "1", "How full a batch to the hub was, by its limits of events and bytes.", share),
		reached:        b.seconds("transaction.duration", "Time from the acceptance of an operation to the state reached.", long),
		stepOutcomes:   b.counter("step.outcomes", "{step}", "Attempts of steps and of their undo calls, by outcome."),
		stepRetries:    b.counter("step.retries", "{call}", "Attempts of a step after its first."),
		wakes:          b.counter("wakes", "{wake}", "Wakes sent."),
		compensations:  b.counter("compensations", "{transaction}", "Transactions that began to be undone."),
		stuck:          b.counter("transactions.stuck", "{transaction}", "Transactions left to an operator."),
		quarantined:    b.counter("quarantined", "{message}", "Messages and events put into quarantine."),
		lost:           b.counter("events.lost", "{event}", "Events that expired in the hub before they were relayed."),
		recognized:     b.counter("operations.recognized", "{operation}", "Operations that came again and were on record."),
		charge:         b.float("cosmosdb.request_charge", "{RU}", "Request units that Cosmos DB charged."),
		operations:     b.counter("cosmosdb.operations", "{operation}", "Operations on Cosmos DB, repeated tries included."),
		throttled:      b.counter("cosmosdb.throttled", "{response}", "Answers of Cosmos DB with status 429, repeated tries included."),
		queueAge:       b.seconds("queue.age", "Time from the enqueuing of a message, or of a batch's first event, to its invocation.", long),
		undoAge:        b.seconds("undo.age", "Age of an undo each time it is put off.", long),
		breakerOpen:    b.gauge("breaker.open", "s", "How long the circuit breaker of a backend has been open, 0 while it is closed."),
		shardEvents:    b.counter("shard.events", "{event}", "Accepted requests that the hub of a shard has acknowledged, repeats included."),
		mapVersion:     b.gauge("shards.map.version", "1", "Version of the map of the shards that this instance goes by, 0 for one that was never stored."),
		mapAge:         b.gauge("shards.map.age", "s", "Time since this instance read the map of the shards."),
		meter:          meter,
	}
	return m, errors.Join(append(standard.errs, b.errs...)...)
}

// NoMetrics returns measurements that go nowhere.
func NoMetrics() *Metrics {
	m, _ := NewMetrics(noop.Meter{}, "") // which refuses no name
	return m
}

// Accepted counts a request that was answered 202 after so long. operation is
// start, reschedule or cancel.
func (m *Metrics) Accepted(ctx context.Context, operation string, took time.Duration) {
	attrs := with(attribute.String("operation", operation))
	m.accepted.Add(ctx, 1, attrs)
	m.acceptDuration.Record(ctx, took.Seconds(), attrs)
}

// Refused counts a request that was answered with a problem.
func (m *Metrics) Refused(ctx context.Context, operation string, status int, errorType string) {
	m.refused.Add(ctx, 1, with(attribute.String("operation", operation), statusKey.Int(status), errorKey.String(errorType)))
}

// Batch measures a batch that was sent to the hub; fill is in [0,1].
func (m *Metrics) Batch(ctx context.Context, events int, fill float64) {
	m.batchEvents.Record(ctx, int64(events))
	m.batchFill.Record(ctx, fill)
}

// Reached measures a transaction that has come to a state now, from when that was
// accepted which is done for it. What has no such time, since it was made by hand,
// is not measured.
func (m *Metrics) Reached(ctx context.Context, state string, accepted, now time.Time) {
	if timed(accepted) {
		m.reached.Record(ctx, max(0, now.Sub(accepted).Seconds()), with(attribute.String("state", state)))
	}
}

// timed reports whether a time was given: what has none says the year 1, or 1970.
func timed(at time.Time) bool { return at.Unix() > 0 }

// Step counts an attempt of a step, the first of which has the number 1, or of
// its undo call, by its outcome.
func (m *Metrics) Step(ctx context.Context, step, outcome string, attempt int) {
	name := attribute.String("step", step)
	m.stepOutcomes.Add(ctx, 1, with(name, attribute.String("outcome", outcome)))
	if attempt > 1 {
		m.stepRetries.Add(ctx, 1, with(name))
	}
}

// Wake counts a wake that was sent to a queue.
func (m *Metrics) Wake(ctx context.Context, queue string) {
	m.wakes.Add(ctx, 1, with(attribute.String("queue", queue)))
}

// Compensation counts a transaction that began to be undone.
func (m *Metrics) Compensation(ctx context.Context, cause string) {
	m.compensations.Add(ctx, 1, with(attribute.String("cause", cause)))
}

// Stuck counts a transaction that became Stuck.
func (m *Metrics) Stuck(ctx context.Context) {
	m.stuck.Add(ctx, 1)
}

// UndoPutOff measures for how long an undoing has lasted that is put off.
func (m *Metrics) UndoPutOff(ctx context.Context, undoing time.Duration) {
	m.undoAge.Record(ctx, undoing.Seconds())
}

// Breakers has the circuit breakers measured whenever metrics are read: open tells
// how long each has been open, by its backend's name, and 0 of one that is closed.
// It must be safe for concurrent use.
func (m *Metrics) Breakers(open func() map[string]time.Duration) error {
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for backend, lasts := range open() {
			o.ObserveFloat64(m.breakerOpen, lasts.Seconds(), with(attribute.String("backend", backend)))
		}
		return nil
	}, m.breakerOpen)
	return err
}

// Acknowledged counts events that the hub of a shard has acknowledged.
func (m *Metrics) Acknowledged(ctx context.Context, shard string, events int) {
	m.shardEvents.Add(ctx, int64(events), with(attribute.String("shard", shard)))
}

// ShardMap has the map of the shards measured whenever metrics are read: read tells its
// version, and its age; below 0 if it was never read.
func (m *Metrics) ShardMap(read func() (version int, age time.Duration)) error {
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if version, age := read(); age >= 0 {
			o.ObserveFloat64(m.mapVersion, float64(version))
			o.ObserveFloat64(m.mapAge, age.Seconds())
		}
		return nil
	}, m.mapVersion, m.mapAge)
	return err
}

// Quarantined counts what was put into quarantine.
func (m *Metrics) Quarantined(ctx context.Context, source, reason string) {
	m.quarantined.Add(ctx, 1, with(attribute.String("source", source), attribute.String("reason", reason)))
}

// Lost counts events that expired in the hub before they were relayed.
func (m *Metrics) Lost(ctx context.Context, events int64) {
	m.lost.Add(ctx, events)
}

// Recognized counts an operation that came again and was on record.
func (m *Metrics) Recognized(ctx context.Context) {
	m.recognized.Add(ctx, 1)
}

// CosmosDB counts an answer of Cosmos DB.
func (m *Metrics) CosmosDB(ctx context.Context, container string, charge float64, throttled bool) {
	attrs := with(attribute.String("container", container))
	m.charge.Add(ctx, charge, attrs)
	m.operations.Add(ctx, 1, attrs)
	if throttled {
		m.throttled.Add(ctx, 1, attrs)
	}
}

// QueueAge measures how long a message has waited that was enqueued at a time of
// the service's clock. One ahead of ours makes it 0. A message without a time,
// such as that of a manual invocation, has not waited.
func (m *Metrics) QueueAge(ctx context.Context, queue string, enqueued, now time.Time) {
	if timed(enqueued) {
		m.queueAge.Record(ctx, max(0, now.Sub(enqueued).Seconds()), with(attribute.String("queue", queue)))
	}
}

// with is the option of a measurement with these attributes.
func with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	var key attributes
	if len(attrs) > len(key) {
		return metric.WithAttributeSet(attribute.NewSet(attrs...))
	}
	copy(key[:], attrs)
	sets.RLock()
	set, known := sets.of[key]
	sets.RUnlock()
	if !known {
		set = metric.WithAttributeSet(attribute.NewSet(attrs...))
		sets.Lock()
		defer sets.Unlock()
		sets.of[key] = set
	}
	return set
}

// attributes are those of a measurement, in the order in which they are given.
type attributes [6]attribute.KeyValue

// sets are the attributes that were used before: there are few, and to sort them
// costs more than the rest of a measurement.
var sets = struct {
	sync.RWMutex
	of map[attributes]metric.MeasurementOption
}{of: map[attributes]metric.MeasurementOption{}}

// builder makes instruments and gathers what is wrong with them.
type builder struct {
	meter  metric.Meter
	prefix string // of all names
	errs   []error
}

func (b *builder) counter(name, unit, description string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(description))
	b.errs = append(b.errs, err)
	return c
}

func (b *builder) float(name, unit, description string) metric.Float64Counter {
	c, err := b.meter.Float64Counter(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(description))
	b.errs = append(b.errs, err)
	return c
}

func (b *builder) whole(name, unit, description string, bounds metric.HistogramOption) metric.Int64Histogram {
	h, err := b.meter.Int64Histogram(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(description), bounds)
	b.errs = append(b.errs, err)
	return h
}

func (b *builder) histogram(name, unit, description string, bounds metric.HistogramOption) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(description), bounds)
	b.errs = append(b.errs, err)
	return h
}

func (b *builder) gauge(name, unit, description string) metric.Float64ObservableGauge {
	g, err := b.meter.Float64ObservableGauge(b.prefix+name, metric.WithUnit(unit), metric.WithDescription(description))
	b.errs = append(b.errs, err)
	return g
}

func (b *builder) seconds(name, description string, bounds metric.HistogramOption) metric.Float64Histogram {
	return b.histogram(name, "s", description, bounds)
}
