package main

import (
	"cmp"
	"context"
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
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// observed returns ports whose effects are recorded. The documents' stores are
// not among them: see tried.
func (s signals) observed(p ports, c settings.Settings) ports {
	p.producer = observedProducer{p.producer, s, c.EventHub}
	p.sender = observedSender{p.sender, s}
	return p
}

// observedProducer records the batches that go to the hub. A batch is nobody's
// alone: its span is the root of a trace, with links to the requests in it.
type observedProducer struct {
	ingest.Producer
	signals
	hub string
}

func (o observedProducer) Send(ctx context.Context, partition string, events []ingest.Event) error {
	start := time.Now()
	system := semconv.MessagingSystemEventHubs
	ctx, span := o.tracer.Start(ctx, "send "+o.hub, trace.WithSpanKind(trace.SpanKindProducer))
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
	o.metrics.Sent(ctx, system.Value.AsString(), o.hub, len(events), time.Since(start), failed)
	return err
}

// observedSender records what goes to the queues.
type observedSender struct {
	engine.Sender
	signals
}

func (o observedSender) Send(ctx context.Context, messages ...engine.Queued) error {
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
	o.metrics.Sent(ctx, system.Value.AsString(), queue, len(messages), time.Since(start), failed)
	return err
}

func sending(system attribute.KeyValue, destination string, n int) []attribute.KeyValue {
	return []attribute.KeyValue{
		system, semconv.MessagingDestinationName(destination), semconv.MessagingOperationTypeSend,
		semconv.MessagingOperationName("send"), semconv.MessagingBatchMessageCount(n),
	}
}

// wakeSender counts the wakes, which are all that a runner sends.
type wakeSender struct {
	relay.Sender
	signals
}

func (o wakeSender) Send(ctx context.Context, messages ...engine.Queued) error {
	err := o.Sender.Send(ctx, messages...)
	if err == nil {
		for _, m := range messages {
			o.metrics.Wake(ctx, m.Queue)
		}
	}
	return err
}

// changed measures a transaction that has come to another state.
func (s signals) changed(now func() time.Time) func(context.Context, workflow.State, *workflow.Progress) {
	return func(ctx context.Context, _ workflow.State, p *workflow.Progress) {
		s.metrics.Reached(ctx, string(p.State), askedAt(p), now())
		switch p.State {
		case workflow.Compensating:
			s.metrics.Compensation(ctx, string(p.Cause))
		case workflow.Stuck:
			s.metrics.Stuck(ctx)
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

// deadLetterReasons are those that Service Bus gives by itself. Whoever
// dead-letters a message may give any other, which is no value for a metric.
// (Microsoft Learn, "Overview of Service Bus dead-letter queues".)
var knownReasons = []string{
	quarantine.ReasonUnreadable, quarantine.ReasonExpired, quarantine.ReasonUnknown, relay.ReasonTooLarge,
	"MaxDeliveryCountExceeded", "TTLExpiredException", "HeaderSizeExceeded", "Session ID is null", "MaxTransferHopCountExceeded",
}

// kept counts what was put into quarantine.
func (s signals) kept(ctx context.Context, e quarantine.Entry) {
	reason := "other"
	for _, known := range knownReasons {
		if e.Reason == known {
			reason = known
		}
	}
	s.metrics.Quarantined(ctx, e.Source, reason)
}

// flushed measures the batches that a writer with these limits sends.
func (s signals) flushed(w settings.Writer) func(ingest.Flush) {
	return func(f ingest.Flush) {
		fill := max(float64(f.Events)/float64(w.BatchEvents), float64(f.Bytes)/float64(w.BatchBytes))
		s.metrics.Batch(context.Background(), f.Events, min(1, fill))
	}
}

// slowTry is how long a try of an operation on Cosmos DB takes that has a span.
const slowTry = 100 * time.Millisecond

// tried measures a try of an operation on Cosmos DB. A delivery makes some
// thirty of them: only those have a span that somebody would look for, the slow
// and the failed ones, and it is made when the try has ended.
func (s signals) tried(ctx context.Context, t cosmosdb.Try) {
	s.metrics.CosmosDB(ctx, cmp.Or(t.Container, "account"), t.Charge, t.Throttled())
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
