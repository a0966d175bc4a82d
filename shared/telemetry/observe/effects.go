package observe

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Producer returns next, whose batches to the hub are recorded. A batch is nobody's
// alone: its span is the root of a trace, with links to the requests in it.
func (s Signals) Producer(next ingest.Producer, hub string) ingest.Producer {
	return producer{next, s, hub}
}

type producer struct {
	ingest.Producer
	Signals
	hub string
}

func (o producer) Send(ctx context.Context, partition string, events []ingest.Event) error {
	start := time.Now()
	system := semconv.MessagingSystemEventHubs
	ctx, span := o.Tracer.Start(ctx, "send "+o.hub, trace.WithSpanKind(trace.SpanKindProducer))
	if span.IsRecording() {
		span.SetAttributes(append(sending(system, o.hub, len(events)), semconv.MessagingDestinationPartitionID(partition))...)
		for _, e := range events {
			link(span, e.TraceParent)
		}
	}
	err := o.Producer.Send(ctx, partition, events)
	failed := telemetry.ErrorType(err)
	telemetry.Fail(span, failed)
	span.End()
	o.Metrics.Sent(ctx, system.Value.AsString(), o.hub, len(events), time.Since(start), failed)
	return err
}

// Sender returns next, whose messages to the queues are recorded.
func (s Signals) Sender(next engine.Sender) engine.Sender { return sender{next, s} }

type sender struct {
	engine.Sender
	Signals
}

func (o sender) Send(ctx context.Context, messages ...engine.Queued) error {
	if len(messages) == 0 {
		return o.Sender.Send(ctx)
	}
	start := time.Now()
	system, queue := semconv.MessagingSystemServiceBus, messages[0].Queue
	ctx, span := telemetry.Start(ctx, "send "+queue, trace.WithSpanKind(trace.SpanKindProducer))
	if span.IsRecording() {
		span.SetAttributes(sending(system, queue, len(messages))...)
	}
	err := o.Sender.Send(ctx, messages...)
	failed := telemetry.ErrorType(err)
	telemetry.Fail(span, failed)
	span.End()
	o.Metrics.Sent(ctx, system.Value.AsString(), queue, len(messages), time.Since(start), failed)
	return err
}

func sending(system attribute.KeyValue, destination string, n int) []attribute.KeyValue {
	return []attribute.KeyValue{
		system, semconv.MessagingDestinationName(destination), semconv.MessagingOperationTypeSend,
		semconv.MessagingOperationName("send"), semconv.MessagingBatchMessageCount(n),
	}
}

// Wakes returns next, whose messages are counted as wakes: they are all that the
// engine sends.
func (s Signals) Wakes(next engine.Sender) engine.Sender { return wakes{next, s} }

type wakes struct {
	engine.Sender
	Signals
}

func (o wakes) Send(ctx context.Context, messages ...engine.Queued) error {
	err := o.Sender.Send(ctx, messages...)
	if err == nil {
		for _, m := range messages {
			o.Metrics.Wake(ctx, m.Queue)
		}
	}
	return err
}

// Changed measures a transaction that has come to another state.
func (s Signals) Changed(now func() time.Time) func(context.Context, workflow.State, *workflow.Progress) {
	return func(ctx context.Context, _ workflow.State, p *workflow.Progress) {
		s.Metrics.Reached(ctx, string(p.State), askedAt(p), now())
		switch p.State {
		case workflow.Compensating:
			s.Metrics.Compensation(ctx, string(p.Cause))
		case workflow.Stuck:
			s.Metrics.Stuck(ctx)
		}
		trace.SpanFromContext(ctx).AddEvent(string(p.State)) // on the span of the invocation
	}
}

// askedAt returns when that was accepted which the transaction is about now: the
// delivery, or the reschedule or cancel that was taken up last.
func askedAt(p *workflow.Progress) time.Time {
	at := p.AcceptedAt.Time
	for _, o := range p.Operations {
		taken := o.Kind == workflow.OperationCancel || o.Revision > 1
		// A cancel that was taken up has done something even if it was refused then.
		refused := o.State == workflow.OperationRefused && (o.Kind != workflow.OperationCancel || o.Revision == 0)
		if taken && !refused && o.State != workflow.OperationSuperseded && o.AcceptedAt.After(at) {
			at = o.AcceptedAt.Time
		}
	}
	return at
}

// knownReasons are ours, and those that Service Bus gives by itself. Whoever
// dead-letters a message may give any other, which is no value for a metric.
// (Microsoft Learn, "Overview of Service Bus dead-letter queues".)
var knownReasons = []string{
	quarantine.ReasonUnreadable, quarantine.ReasonExpired, quarantine.ReasonUnknown, relay.ReasonTooLarge,
	"MaxDeliveryCountExceeded", "TTLExpiredException", "HeaderSizeExceeded", "Session ID is null", "MaxTransferHopCountExceeded",
}

// Kept counts what was put into quarantine.
func (s Signals) Kept(ctx context.Context, e quarantine.Entry) {
	reason := "other"
	if slices.Contains(knownReasons, e.Reason) {
		reason = e.Reason
	}
	s.Metrics.Quarantined(ctx, e.Source, reason)
}

// Flushed measures the batches that a writer with these limits sends to a shard.
func (s Signals) Flushed(l ingest.Limits, to shard.Number) func(ingest.Flush) {
	name := strconv.Itoa(int(to))
	return func(f ingest.Flush) {
		if f.Err == nil {
			s.Metrics.Acknowledged(context.Background(), name, f.Events)
		}
		fill := max(float64(f.Events)/float64(l.Events), float64(f.Bytes)/float64(l.Bytes))
		s.Metrics.Batch(context.Background(), f.Events, min(1, fill))
	}
}

// slowTry is how long a try of an operation on Cosmos DB takes that has a span.
const slowTry = 100 * time.Millisecond

// Tried measures a try of an operation on Cosmos DB. A delivery makes some
// thirty of them: only those have a span that somebody would look for, the slow
// and the failed ones, and it is made when the try has ended.
func (s Signals) Tried(ctx context.Context, t cosmosdb.Try) {
	s.Metrics.CosmosDB(ctx, cmp.Or(t.Container, "account"), t.Charge, t.Throttled())
	if t.Took < slowTry && !t.Failed() {
		return
	}
	_, span := telemetry.Start(ctx, strings.TrimSpace(t.Method+" "+t.Container), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(t.Began))
	if span.IsRecording() {
		span.SetAttributes(semconv.DBSystemNameAzureCosmosDB, semconv.DBCollectionName(t.Container),
			attribute.Float64("azure.cosmosdb.operation.request_charge", t.Charge))
		if t.Failed() {
			status := "broken"
			if t.Status != 0 {
				status = strconv.Itoa(t.Status)
				span.SetAttributes(semconv.DBResponseStatusCode(status))
			}
			telemetry.Fail(span, status)
		}
	}
	span.End(trace.WithTimestamp(t.Began.Add(t.Took)))
}
