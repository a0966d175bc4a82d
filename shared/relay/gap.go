package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Checkpoint is how far a partition has been handed over: every event up to
// SequenceNumber, and that one, is durable elsewhere.
type Checkpoint struct {
	ID             string    `json:"id"`
	SequenceNumber int64     `json:"sequenceNumber"`
	SavedAt        time.Time `json:"savedAt"`
}

// Checkpoints keeps checkpoints. Implementations are safe for concurrent use
// and give errors whose kind failure.KindOf tells.
type Checkpoints interface {
	// Read returns a checkpoint and its ETag. NotFound if there is none.
	Read(ctx context.Context, id string) (Checkpoint, string, error)
	// Save stores c in place of the one that has the ETag, or as a new one if
	// etag is "", and returns the new ETag. Conflict if the stored one has
	// another ETag, or there is one.
	Save(ctx context.Context, c Checkpoint, etag string) (string, error)
}

// Last is the latest event of a partition.
type Last struct {
	SequenceNumber int64 // -1 if the hub has no event of the partition
	EnqueuedAt     time.Time
}

// Reader reads the hub, beside the trigger. Implementations are safe for
// concurrent use.
type Reader interface {
	// Partitions returns the ids of the hub's partitions.
	Partitions(ctx context.Context) ([]string, error)
	// Last returns the latest event of a partition.
	Last(ctx context.Context, partition string) (Last, error)
	// Between returns the oldest events of a partition whose sequence numbers
	// are greater than after and smaller than before, in order: at least one
	// if the hub still has any, not necessarily all.
	Between(ctx context.Context, partition string, after, before int64) ([]Event, error)
}

// position is a checkpoint as this instance last saw it. Another instance may
// have moved it since, never back.
type position struct {
	sequence int64  // -1 as long as none is stored
	etag     string // "" as long as none is stored
	savedAt  time.Time
}

func checkpointID(b Batch) string { return b.Hub + "." + b.ConsumerGroup + "." + b.Partition }

// fillGap hands over the events between the checkpoint, or the partition's
// beginning if there is none, and the batch. The checkpoint moves with each
// part of the gap, so that a gap too large for one invocation is filled by
// several.
func (s *Service) fillGap(ctx context.Context, b Batch) error {
	first := b.Events[0].SequenceNumber
	at, ok := s.remembered(checkpointID(b))
	if !ok || at.sequence+1 < first {
		// Another instance may have had the partition in between.
		var err error
		if at, err = s.load(ctx, b); err != nil {
			return err
		}
	}
	for at.sequence+1 < first {
		next, events, err := s.fill(ctx, b, at, first)
		if err != nil || events == 0 {
			return err
		}
		at = next
	}
	return nil
}

// fill hands over the oldest events of a gap, those between at and before, and
// moves the checkpoint behind them. It returns where the checkpoint is now, and
// how many events that were: 0 if the hub has none of them any more.
func (s *Service) fill(ctx context.Context, b Batch, at position, before int64) (position, int, error) {
	missing, err := s.c.Reader.Between(ctx, b.Partition, at.sequence, before)
	if err != nil {
		return at, 0, fmt.Errorf("read events %d to %d of partition %s again: %w", at.sequence+1, before-1, b.Partition, err)
	}
	if len(missing) == 0 {
		if at.etag != "" { // otherwise the hub is older than this app
			s.c.Logger.ErrorContext(ctx, "events expired before they were relayed",
				"hub", b.Hub, "partition", b.Partition, "after", at.sequence, "before", before)
		}
		return at, 0, nil
	}
	s.c.Logger.WarnContext(ctx, "the trigger has skipped events",
		"hub", b.Hub, "partition", b.Partition, "after", at.sequence, "before", before, "read", len(missing))
	b.Events = missing
	if err := s.handOver(ctx, b); err != nil {
		return at, 0, err
	}
	at, err = s.advance(ctx, b)
	return at, len(missing), err
}

// advance moves the checkpoint to the end of b, unless it is further already,
// and returns where it is.
func (s *Service) advance(ctx context.Context, b Batch) (position, error) {
	id, last := checkpointID(b), b.Events[len(b.Events)-1].SequenceNumber
	for {
		at, ok := s.remembered(id)
		if !ok {
			var err error
			if at, err = s.load(ctx, b); err != nil {
				return at, err
			}
		}
		if at.sequence >= last {
			return at, nil
		}
		c := Checkpoint{ID: id, SequenceNumber: last, SavedAt: s.c.Now().UTC()}
		etag, err := s.c.Checkpoints.Save(ctx, c, at.etag)
		switch {
		case err == nil:
			at = position{last, etag, c.SavedAt}
			s.remember(id, &at)
			return at, nil
		case failure.Is(err, failure.Conflict) || failure.Is(err, failure.NotFound):
			s.remember(id, nil) // another instance has moved it: look again
		default:
			return at, fmt.Errorf("save checkpoint %s: %w", id, err)
		}
		if ctx.Err() != nil {
			return at, fmt.Errorf("save checkpoint %s: %w", id, context.Cause(ctx))
		}
	}
}

// load reads the checkpoint of b's partition.
func (s *Service) load(ctx context.Context, b Batch) (position, error) {
	id := checkpointID(b)
	at := position{sequence: -1}
	c, etag, err := s.c.Checkpoints.Read(ctx, id)
	switch {
	case err == nil:
		at = position{c.SequenceNumber, etag, c.SavedAt}
	case !failure.Is(err, failure.NotFound):
		return position{}, fmt.Errorf("read checkpoint %s: %w", id, err)
	}
	s.remember(id, &at)
	return at, nil
}

func (s *Service) remembered(id string) (position, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.known[id]
	return at, ok
}

// remember keeps a position, or forgets it if it is nil.
func (s *Service) remember(id string, at *position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at == nil {
		delete(s.known, id)
		return
	}
	s.known[id] = *at
}
