package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Checkpoint is how far a partition has been handed over: every event up to
// SequenceNumber, and that one, is durable elsewhere. -1 is before the first.
type Checkpoint struct {
	ID             string    `json:"id"`
	SequenceNumber int64     `json:"sequenceNumber"`
	SavedAt        time.Time `json:"savedAt"`
	// HubCreatedAt tells of which hub the sequence number is: one that is deleted
	// and created again begins to count anew. Zero in a checkpoint from before
	// that was kept.
	HubCreatedAt time.Time `json:"hubCreatedAt,omitzero"`
	// By is the process whose trigger moved it last, and Since when that one did so
	// for the first time after another.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"`
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

// position is a checkpoint as this instance last saw it. Another instance may
// have moved it since: forward, or to the beginning of a new hub.
type position struct {
	sequence int64     // -1 as long as none is stored
	etag     string    // "" as long as none is stored
	savedAt  time.Time // of the last event that was handed over
	hub      time.Time // when the hub was created; zero: not known
	by       string
	since    time.Time
}

func checkpointID(b Batch) string { return CheckpointID(b.Hub, b.ConsumerGroup, b.Partition) }

// CheckpointID returns the id of the checkpoint of a partition.
func CheckpointID(hub, consumerGroup, partition string) string {
	return hub + "." + consumerGroup + "." + partition
}

// lookAgain is the least time between two looks at the hub because batches don't
// go with the position: a trigger that replays old events sends many of them.
const lookAgain = 10 * time.Second

// present returns when the hub was created, as this instance knows it. It asks
// the hub the first time, and with doubt also later, but not all the time.
func (s *Service) present(ctx context.Context, doubt bool) (time.Time, error) {
	s.mu.Lock()
	created, looked := s.created, s.looked
	s.mu.Unlock()
	if !looked.IsZero() && (!doubt || s.c.Now().Sub(looked) < lookAgain) {
		return created, nil
	}
	hub, err := s.c.Reader.Hub(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return s.saw(hub), nil
}

// saw keeps when the hub was created, and returns what is known of it: the
// latest, since an answer may have been overtaken.
func (s *Service) saw(hub Hub) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = s.c.Now()
	if hub.CreatedAt.After(s.created) {
		s.created = hub.CreatedAt.UTC()
	}
	return s.created
}

// position returns the position of b's partition in the hub that is there. With
// doubt it looks at the stored checkpoint, which another instance may have moved,
// and at the hub, which may be another one; otherwise at what it remembers.
func (s *Service) position(ctx context.Context, b Batch, doubt bool) (position, error) {
	created, err := s.present(ctx, doubt)
	if err != nil {
		return position{}, err
	}
	for {
		at, ok := s.remembered(checkpointID(b))
		if !ok || doubt {
			doubt = false
			if at, err = s.load(ctx, b); err != nil {
				return at, err
			}
		}
		moved, err := s.inHub(ctx, b, at, created)
		if err == nil || !failure.Is(err, failure.Conflict) || ctx.Err() != nil {
			return moved, err
		}
		s.remember(checkpointID(b), nil) // another instance was faster
	}
}

// inHub returns where a position is in the hub that was created at that time: at
// its beginning if the position is of another hub. That it is stored before
// anything is done with it keeps instances that have not noticed from moving on.
func (s *Service) inHub(ctx context.Context, b Batch, at position, created time.Time) (position, error) {
	switch {
	case at.etag == "":
		at.hub = created
		return at, nil
	case at.hub.Equal(created):
		return at, nil
	case at.hub.After(created): // another instance has seen the new one
		s.saw(Hub{CreatedAt: at.hub})
		return at, nil
	case at.hub.IsZero():
		extent, err := s.c.Reader.Extent(ctx, b.Partition)
		if err != nil {
			return at, err
		}
		if extent.Last >= at.sequence {
			at.hub = created
			return s.save(ctx, b, at)
		}
	}
	return s.begin(ctx, b, at, created)
}

// begin moves a position that is not of the present hub to that hub's beginning.
func (s *Service) begin(ctx context.Context, b Batch, at position, created time.Time) (position, error) {
	s.c.Logger.ErrorContext(ctx, "the hub was recreated",
		"hub", b.Hub, "partition", b.Partition, "checkpoint", at.sequence, "checkpointAt", at.savedAt,
		"checkpointOfHubCreatedAt", at.hub, "hubCreatedAt", created,
		"now", "the new hub is relayed from its beginning; what the old one had after the checkpoint is gone",
		"todo", "tell the clients of the time after the checkpoint to send again, and delete the trigger's own checkpoints: docs/operations.md, lost-events")
	at.sequence, at.hub = -1, created
	return s.save(ctx, b, at)
}

// save stores a position in place of the one that has its ETag. The error is a
// Conflict if another instance has stored one meanwhile: then nothing is
// remembered, and the caller looks again.
func (s *Service) save(ctx context.Context, b Batch, at position) (position, error) {
	id := checkpointID(b)
	c := Checkpoint{ID: id, SequenceNumber: at.sequence, SavedAt: at.savedAt, HubCreatedAt: at.hub, By: at.by, Since: at.since}
	etag, err := s.c.Checkpoints.Save(ctx, c, at.etag)
	switch {
	case err == nil:
		at.etag = etag
		s.remember(id, &at)
		return at, nil
	case failure.Is(err, failure.Conflict) || failure.Is(err, failure.NotFound):
		s.remember(id, nil)
		return at, failure.New(failure.Conflict, "save checkpoint", id, err)
	default:
		return at, fmt.Errorf("save checkpoint %s: %w", id, err)
	}
}

// load reads the checkpoint of b's partition.
func (s *Service) load(ctx context.Context, b Batch) (position, error) {
	id := checkpointID(b)
	at := position{sequence: -1}
	c, etag, err := s.c.Checkpoints.Read(ctx, id)
	switch {
	case err == nil:
		at = position{c.SequenceNumber, etag, c.SavedAt, c.HubCreatedAt, c.By, c.Since}
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
