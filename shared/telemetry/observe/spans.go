package observe

import (
	"context"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// queued is how many spans wait for their export at most, those that are on
	// their way included: some ten thousand deliveries a minute with a second's
	// delay, in less than 16 MiB.
	queued = 8192
	// exportTime bounds one export, with its repeats.
	exportTime = 10 * time.Second
)

// spans is the SDK's batch processor behind a count of what waits in it: what is
// too much is dropped here, where it can be counted.
type spans struct {
	sdktrace.SpanProcessor
	waiting *atomic.Int64
	limit   int64
	outage  *outage
}

func newSpans(exports context.Context, e sdktrace.SpanExporter, o *outage) *spans {
	s := &spans{waiting: new(atomic.Int64), limit: queued, outage: o}
	// The processor's own queue is never full: the mark of a flush needs a place
	// in it, too.
	s.SpanProcessor = sdktrace.NewBatchSpanProcessor(
		&spanExporter{SpanExporter: e, exports: exports, waiting: s.waiting, outage: o}, sdktrace.WithMaxQueueSize(queued+16))
	return s
}

// OnEnd queues a span for export, or drops it. It never waits.
func (s *spans) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	if s.waiting.Add(1) > s.limit {
		s.waiting.Add(-1)
		s.outage.drop(1, "the queue is full")
		return
	}
	s.SpanProcessor.OnEnd(span)
}

// spanExporter takes note of what becomes of the spans. A batch that is on its
// way is not given up because who wanted it flushed has lost his patience: the
// processor would drop it.
type spanExporter struct {
	sdktrace.SpanExporter
	exports context.Context
	waiting *atomic.Int64
	outage  *outage
}

func (e *spanExporter) ExportSpans(_ context.Context, batch []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(e.exports, exportTime)
	defer cancel()
	err := e.SpanExporter.ExportSpans(ctx, batch)
	e.waiting.Add(-int64(len(batch)))
	e.outage.exported(len(batch), err)
	return nil // the outage has told
}
