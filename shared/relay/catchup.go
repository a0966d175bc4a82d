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
// A partition is quiet when its latest event is older than Config.Quiet and the
// checkpoint, though behind it, has not moved for as long. So CatchUp does not
// run beside a trigger that works off a backlog, which moves the checkpoint with
// each batch, nor ahead of one that is about to get a new event. All of that is
// stored, in the hub and in the checkpoint: it does not matter which instance
// runs, nor for how long it has. Should both hand over the same events all the
// same, such as after a long pause between the trigger's attempts, the messages
// are duplicates.
func (s *Service) CatchUp(ctx context.Context) (events int, err error) {
	if s.c.Checkpoints == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	partitions, err := s.c.Reader.Partitions(ctx)
	if err != nil {
		return 0, fmt.Errorf("catch up: %w", err)
	}
	var count atomic.Int64
	failed := make([]error, len(partitions))
	var group errgroup.Group
	group.SetLimit(catchUpParallel)
	for i, partition := range partitions {
		group.Go(func() error {
			n, err := s.catchUp(ctx, partition)
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

// catchUp does one partition, and returns how many events it handed over.
func (s *Service) catchUp(ctx context.Context, partition string) (events int, err error) {
	last, err := s.c.Reader.Last(ctx, partition)
	quiet := s.c.Now().Add(-s.c.Quiet)
	if err != nil || last.SequenceNumber < 0 || last.EnqueuedAt.After(quiet) {
		return 0, err
	}
	b := Batch{Hub: s.c.Hub, ConsumerGroup: s.c.ConsumerGroup, Partition: partition}
	at, ok := s.remembered(checkpointID(b))
	if ok && at.sequence >= last.SequenceNumber { // checkpoints never go back
		return 0, nil
	}
	if at, err = s.load(ctx, b); err != nil || at.savedAt.After(quiet) {
		return 0, err
	}
	for range catchUpParts {
		if at.sequence >= last.SequenceNumber {
			break
		}
		next, n, err := s.fill(ctx, b, at, last.SequenceNumber+1)
		if err != nil || n == 0 {
			return events, err
		}
		at, events = next, events+n
	}
	return events, nil
}
