package relay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// The bounds of one run of CatchUp. What it leaves, the next run finds that
// comes to a quiet partition.
const (
	catchUpTime     = 20 * time.Second
	catchUpParallel = 4  // partitions
	catchUpParts    = 10 // reads of the hub for one partition
)

// CatchUp hands over what the trigger has skipped in partitions that are quiet,
// where no next batch shows the gap, and returns how many events that were.
// Failures in single partitions do not stop the run; they are joined in the
// error.
//
// It hands over events that have waited for longer than Config.Quiet while the
// checkpoint has not moved for as long. So CatchUp does not run beside a trigger
// that works off a backlog, which moves the checkpoint with each batch, nor ahead
// of one that is about to get a new event. All of that is stored, in the hub and
// in the checkpoint: it does not matter which instance runs, nor for how long it
// has. Should both hand over the same events all the same, such as after a long
// pause between the trigger's attempts, the messages are duplicates.
//
// It also asks each time which hub it is, and so finds one that was recreated,
// where the trigger of a stored checkpoint reads nothing until the new hub has
// come as far as the old one.
func (s *Service) CatchUp(ctx context.Context) (events int, err error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	hub, err := s.c.Reader.Hub(ctx)
	if err != nil {
		return 0, fmt.Errorf("catch up: %w", err)
	}
	created := s.saw(hub)
	var count atomic.Int64
	failed := make([]error, len(hub.Partitions))
	var group errgroup.Group
	group.SetLimit(catchUpParallel)
	for i, partition := range hub.Partitions {
		group.Go(func() error {
			n, err := s.catchUp(ctx, partition, created)
			count.Add(int64(n))
			if err != nil {
				failed[i] = fmt.Errorf("catch up in partition %s: %w", partition, err)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return no error
	return int(count.Load()), errors.Join(failed...)
}

// catchUp does one partition of the hub that was created at that time, and
// returns how many events it handed over.
func (s *Service) catchUp(ctx context.Context, partition string, created time.Time) (events int, err error) {
	extent, err := s.c.Reader.Extent(ctx, partition)
	if err != nil {
		return 0, err
	}
	b := Batch{Hub: s.c.Hub, ConsumerGroup: s.c.ConsumerGroup, Partition: partition}
	at, ok := s.remembered(checkpointID(b))
	if ok && at.sequence == extent.Last && at.hub.Equal(created) {
		return 0, nil
	}
	at, err = s.position(ctx, b, true)
	quiet := s.c.Now().Add(-s.c.Quiet)
	if err != nil || at.savedAt.After(quiet) {
		return 0, err
	}
	if at.sequence > extent.Last { // in one hub the numbers never go back
		if at, err = s.begin(ctx, b, at, created); err != nil {
			return 0, err
		}
	}
	for range catchUpParts {
		if at.sequence >= extent.Last {
			break
		}
		next, n, err := s.fill(ctx, b, at, extent.Last+1, quiet)
		events += n
		if err != nil || next.sequence == at.sequence {
			return events, err
		}
		at = next
	}
	return events, nil
}
