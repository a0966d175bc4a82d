package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Claim is what the triggers' host keeps of a partition for one consumer group.
type Claim struct {
	ConsumerGroup, Partition string
	// Owner is the id of the trigger that reads the partition, "" if it was given
	// back. RenewedAt is when the owner last said that it still does; zero if
	// nobody ever has.
	Owner     string
	RenewedAt time.Time
	// Checkpoint is the sequence number behind which the next owner begins; -1 as
	// long as there is none.
	Checkpoint int64
}

// Triggers reads what the host keeps of its triggers. Implementations are safe for
// concurrent use.
type Triggers interface {
	// Claims returns the claims of all consumer groups on a hub, in no order. The
	// names of the groups may be in lower case.
	Claims(ctx context.Context, hub string) ([]Claim, error)
}

// Partition is how things stand with a partition and one of its consumer groups.
type Partition struct {
	ConsumerGroup string `json:"consumerGroup"`
	Partition     string `json:"partition"`
	// Owner and RenewedAt are as in Claim.
	Owner     string    `json:"owner,omitempty"`
	RenewedAt time.Time `json:"renewedAt,omitzero"`
	// Reader is the process that has handed over the latest batch, and Since when
	// it did so for the first time after another process: when the owner changed.
	// Of Relay's own consumer group only.
	Reader string    `json:"reader,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Checkpoint is as in Claim. HandedOver is how far Relay has handed over, by
	// its own record; nil for other consumer groups, and before the first event.
	Checkpoint int64  `json:"checkpoint"`
	HandedOver *int64 `json:"handedOver,omitempty"`
	// First and Last are as in Extent.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Lag is how many events that are still there lie behind the checkpoint. A
	// checkpoint that the hub has not reached is of a deleted hub: then it is all.
	Lag int64 `json:"lag"`
	// OldestUnreadAt is when the hub took the oldest of those, and UnreadSeconds
	// how long ago that was; zero without any.
	OldestUnreadAt time.Time `json:"oldestUnreadAt,omitzero"`
	UnreadSeconds  float64   `json:"unreadSeconds,omitempty"`
}

// Partitions returns how things stand with each partition of the hub, for each
// consumer group that has a claim on one and for Relay's own, in order. It
// changes nothing.
func (s *Service) Partitions(ctx context.Context) ([]Partition, error) {
	hub, err := s.c.Reader.Hub(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := s.c.Triggers.Claims(ctx, s.c.Hub)
	if err != nil {
		return nil, err
	}
	groups := []string{s.c.ConsumerGroup}
	for _, c := range claims {
		if !slices.ContainsFunc(groups, func(g string) bool { return strings.EqualFold(g, c.ConsumerGroup) }) {
			groups = append(groups, c.ConsumerGroup)
		}
	}
	slices.Sort(groups)
	out := make([]Partition, len(groups)*len(hub.Partitions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(catchUpParallel)
	for i := range hub.Partitions {
		g.Go(func() error { return s.standing(ctx, hub, i, groups, claims, out) })
	}
	return out, g.Wait()
}

// standing fills in the rows of a partition of the hub, given by its index.
func (s *Service) standing(ctx context.Context, hub Hub, i int, groups []string, claims []Claim, out []Partition) error {
	id := hub.Partitions[i]
	extent, err := s.c.Reader.Extent(ctx, id)
	if err != nil {
		return err
	}
	for n, group := range groups {
		p := Partition{ConsumerGroup: group, Partition: id, Checkpoint: -1, First: extent.First, Last: extent.Last}
		for _, c := range claims {
			if c.Partition == id && strings.EqualFold(c.ConsumerGroup, group) {
				p.Owner, p.RenewedAt, p.Checkpoint = c.Owner, c.RenewedAt, c.Checkpoint
			}
		}
		if group == s.c.ConsumerGroup {
			if err := s.ours(ctx, hub, &p); err != nil {
				return err
			}
		}
		if err := s.unread(ctx, &p); err != nil {
			return err
		}
		out[n*len(hub.Partitions)+i] = p
	}
	return nil
}

// ours adds what Relay itself knows.
func (s *Service) ours(ctx context.Context, hub Hub, p *Partition) error {
	c, err := s.stored(ctx, hub, p.Partition)
	if err != nil || c.SequenceNumber < 0 {
		return err
	}
	p.HandedOver, p.Reader, p.Since = &c.SequenceNumber, c.By, c.Since
	return nil
}

// stored reads how far a partition of this hub was handed over: -1 if nothing was.
func (s *Service) stored(ctx context.Context, hub Hub, partition string) (Checkpoint, error) {
	id := CheckpointID(s.c.Hub, s.c.ConsumerGroup, partition)
	c, _, err := s.c.Checkpoints.Read(ctx, id)
	switch {
	case failure.Is(err, failure.NotFound):
		return Checkpoint{SequenceNumber: -1}, nil
	case err != nil:
		return c, fmt.Errorf("read checkpoint %s: %w", id, err)
	case !c.HubCreatedAt.IsZero() && !c.HubCreatedAt.Equal(hub.CreatedAt):
		c.SequenceNumber = -1 // of another hub
	}
	return c, nil
}

// Behind returns how many events of the hub Relay has not handed over yet, by its own
// stored positions. What has expired is not there to be handed over.
func (s *Service) Behind(ctx context.Context) (events int64, err error) {
	hub, err := s.c.Reader.Hub(ctx)
	if err != nil {
		return 0, err
	}
	for _, partition := range hub.Partitions {
		extent, err := s.c.Reader.Extent(ctx, partition)
		if err != nil {
			return 0, err
		}
		c, err := s.stored(ctx, hub, partition)
		if err != nil {
			return 0, err
		}
		events += max(0, extent.Last-max(c.SequenceNumber, extent.First-1))
	}
	return events, nil
}

// unread adds how much is to be read behind the checkpoint, and since when.
func (s *Service) unread(ctx context.Context, p *Partition) error {
	next := max(p.Checkpoint+1, p.First)
	if p.Checkpoint > p.Last {
		next = p.First
	}
	p.Lag = p.Last + 1 - next
	if p.Lag <= 0 {
		p.Lag = 0
		return nil
	}
	events, err := s.c.Reader.Between(ctx, p.Partition, next-1, next+1)
	if err != nil || len(events) == 0 { // it has expired since
		return err
	}
	p.OldestUnreadAt = events[0].EnqueuedAt.UTC()
	p.UnreadSeconds = max(0, s.c.Now().Sub(p.OldestUnreadAt).Seconds())
	return nil
}
