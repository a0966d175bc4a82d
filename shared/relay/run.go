package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Runner works events off where they arrive, in place of a message of the queue.
type Runner struct {
	// Run does what an operation asks for, as far as it can be done now: engine's
	// Schedule, or ScheduleWithin. Nil means that it is done: final, or on record with
	// a wake that the queue has taken. It must be safe for concurrent use.
	Run func(ctx context.Context, e engine.Envelope) error
	// InFlight is how many transactions are worked on at once for one batch.
	InFlight int
	// Patient is true if an event that can't be put on record fails its batch, which
	// the host repeats for ever. Otherwise, and where no repeat would mend it, the queue
	// gets the event.
	Patient bool
}

// readable is an event that can be read, with what it says.
type readable struct {
	Event
	envelope engine.Envelope
	// again sets its message apart from those that were sent before, which the queue
	// takes a repeat for while it remembers them; "" for the first.
	again string
}

func (s *Service) message(e readable) engine.Queued {
	return engine.Queued{Queue: s.c.Queue, MessageID: e.envelope.OperationID + e.again, Body: e.Body, TraceParent: e.envelope.TraceParent}
}

// run works the events off and returns when all are done. Those of one transaction
// are run one at a time, in their order.
func (s *Service) run(ctx context.Context, b Batch, events []readable) error {
	of := map[string][]readable{}
	var transactions []string
	for _, e := range events {
		id := e.envelope.TransactionID
		if of[id] == nil {
			transactions = append(transactions, id)
		}
		of[id] = append(of[id], e)
	}
	failed := make([]error, len(transactions))
	var group errgroup.Group
	group.SetLimit(s.c.Runner.InFlight)
	for i, id := range transactions {
		group.Go(func() error {
			for _, e := range of[id] {
				if failed[i] = s.runOne(ctx, b, e); failed[i] != nil {
					break // what came later waits, too
				}
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return no error
	return errors.Join(failed...)
}

// runOne returns nil when an event is done: run, in the queue or in quarantine.
func (s *Service) runOne(ctx context.Context, b Batch, e readable) error {
	ctx, span := telemetry.Continue(ctx, "run "+e.envelope.Operation, e.envelope.TraceParent)
	defer span.End()
	err := s.guarded(ctx, e.envelope)
	telemetry.Fail(span, telemetry.ErrorType(err))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrTooOld):
		return s.keep(ctx, b, e.Event, quarantine.ReasonExpired, err)
	case s.c.Runner.Patient && !failure.Is(err, failure.Permanent) && !failure.Is(err, failure.Invalid):
		return fmt.Errorf("run event %d of partition %s: %w", e.SequenceNumber, b.Partition, err)
	}
	s.c.Logger.WarnContext(ctx, "an event could not be run where it arrived: the queue gets it", "partition", b.Partition,
		"event", e.SequenceNumber, telemetry.KeyTransaction, e.envelope.TransactionID, telemetry.KeyError, err)
	return s.send(ctx, b, []readable{e})
}

// guarded is Run, whose panics end this event alone.
func (s *Service) guarded(ctx context.Context, e engine.Envelope) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.c.Logger.ErrorContext(ctx, "panic", telemetry.KeyError, fmt.Sprint(p), "stack", string(debug.Stack()))
			err = failure.New(failure.Permanent, "run", e.TransactionID, fmt.Errorf("panic: %v", p))
		}
	}()
	return s.c.Runner.Run(ctx, e)
}
