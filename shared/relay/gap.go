package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Hub is what an event hub says of itself.
type Hub struct {
	// CreatedAt tells a hub from one that had its name before: the later one is
	// the one that is there.
	CreatedAt  time.Time
	Partitions []string // their ids
}

// Extent is what the hub has of a partition.
type Extent struct {
	// First is the sequence number of the oldest event, or of the next one if
	// there is none. Last is that of the latest event ever, whether it is still
	// there or not; -1 if there was none.
	First, Last int64
}

// Reader reads the hub, beside the trigger. Implementations are safe for
// concurrent use.
type Reader interface {
	// Hub returns what the hub is at the moment.
	Hub(ctx context.Context) (Hub, error)
	// Extent returns what there is of a partition at the moment.
	Extent(ctx context.Context, partition string) (Extent, error)
	// Between returns the oldest events of a partition whose sequence numbers
	// are greater than after and smaller than before, in order: at least one
	// if the hub still has any, not necessarily all.
	Between(ctx context.Context, partition string, after, before int64) ([]Event, error)
	// Since returns the sequence number of the oldest event of a partition that the
	// hub took at that time or later, to the millisecond; without one, that of the
	// next event.
	Since(ctx context.Context, partition string, at time.Time) (int64, error)
}

// errStray is the error for events that the hub which is there can't have: their
// sequence numbers are behind its last. They are of a hub that was deleted.
var errStray = errors.New("the hub has not reached this event")

// fillGap hands over the events between the position, or the partition's
// beginning if there is none, and the batch, and returns the position then. The
// checkpoint moves with each part of the gap, so that a gap too large for one
// invocation is filled by several.
func (s *Service) fillGap(ctx context.Context, b Batch) (position, error) {
	first := b.Events[0].SequenceNumber
	at, err := s.position(ctx, b, false)
	if err == nil && at.sequence+1 != first {
		// A gap, or events that were handed over already: another instance may
		// have had the partition in between, or the hub is another one.
		at, err = s.position(ctx, b, true)
	}
	for err == nil && at.sequence+1 < first {
		at, _, err = s.fill(ctx, b, at, first, time.Time{})
	}
	return at, err
}

// fill hands over the oldest events between a position and a sequence number, and
// returns the position behind them and how many they were: 0 if what comes next
// is gone, or was enqueued after a time that is not zero. The position stays if
// nothing is there to be done.
func (s *Service) fill(ctx context.Context, b Batch, at position, before int64, until time.Time) (position, int, error) {
	events, err := s.readAgain(ctx, b, at, before)
	if err != nil {
		return at, 0, fmt.Errorf("read events %d to %d of partition %s again: %w", at.sequence+1, before-1, b.Partition, err)
	}
	next := before
	if len(events) > 0 {
		next = events[0].SequenceNumber
	}
	if next > at.sequence+1 {
		s.lost(ctx, b, at, next-1)
		at.sequence = next - 1 // nothing was handed over: savedAt stays
		at, err = s.moved(ctx, b, at)
		return at, 0, err
	}
	events = consecutive(events)
	if !until.IsZero() {
		events = enqueuedUntil(events, until)
	}
	if len(events) == 0 {
		return at, 0, nil
	}
	s.c.Logger.WarnContext(ctx, "the trigger has skipped events",
		"hub", b.Hub, "partition", b.Partition, "after", at.sequence, "before", before, "read", len(events))
	b.Events = events
	if err := s.handOver(ctx, b); err != nil {
		return at, 0, err
	}
	at.sequence, at.savedAt = events[len(events)-1].SequenceNumber, s.c.Now().UTC()
	if at, err = s.moved(ctx, b, at); err != nil {
		return at, 0, err
	}
	return at, len(events), nil
}

// readAgain reads the oldest events of a gap. None means that the hub had them
// and has them no longer: it is asked twice, and how far it has come.
func (s *Service) readAgain(ctx context.Context, b Batch, at position, before int64) ([]Event, error) {
	events, err := s.c.Reader.Between(ctx, b.Partition, at.sequence, before)
	if err != nil || len(events) > 0 {
		return events, err
	}
	extent, err := s.c.Reader.Extent(ctx, b.Partition)
	if err != nil {
		return nil, err
	}
	if extent.Last < before-1 {
		return nil, fmt.Errorf("the last event is %d: %w", extent.Last, errStray)
	}
	return s.c.Reader.Between(ctx, b.Partition, at.sequence, before)
}

// lost says that the events behind a position, up to last, are gone.
func (s *Service) lost(ctx context.Context, b Batch, at position, last int64) {
	first := at.sequence + 1
	if at.etag == "" { // the hub may be older than this app
		s.c.Logger.WarnContext(ctx, "events from before the first checkpoint have expired",
			"hub", b.Hub, "partition", b.Partition, "first", first, "last", last)
		return
	}
	s.c.Logger.ErrorContext(ctx, "events expired before they were relayed",
		"hub", b.Hub, "partition", b.Partition, "first", first, "last", last, "events", last-at.sequence, "checkpointAt", at.savedAt,
		"todo", "tell the clients of the time after the checkpoint to send again: docs/operations.md, lost-events")
	if s.c.Lost != nil {
		s.c.Lost(ctx, last-at.sequence)
	}
}

// moved saves a position. Should another instance have moved it meanwhile, the
// position is where that one is.
func (s *Service) moved(ctx context.Context, b Batch, at position) (position, error) {
	next, err := s.save(ctx, b, at)
	if failure.Is(err, failure.Conflict) && ctx.Err() == nil {
		return s.position(ctx, b, false)
	}
	return next, err
}

// consecutive returns the events before the first number that is left out.
func consecutive(events []Event) []Event {
	for i := 1; i < len(events); i++ {
		if events[i].SequenceNumber != events[i-1].SequenceNumber+1 {
			return events[:i]
		}
	}
	return events
}

// enqueuedUntil returns the events before the first that was enqueued later.
func enqueuedUntil(events []Event, at time.Time) []Event {
	for i, e := range events {
		if e.EnqueuedAt.After(at) {
			return events[:i]
		}
	}
	return events
}
