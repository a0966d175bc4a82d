package relay

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// MaxReplay is how many events one call of Replay hands over at most.
const MaxReplay = 1000

// Again says which events are to be handed over once more.
type Again struct {
	Partition string
	// First is the sequence number of the first of them. If From is set, it is the
	// first that the hub took at that time or later.
	First int64
	From  time.Time
	// Last is the sequence number of the last of them; nil for all that were ever
	// handed over.
	Last *int64
	// By is the id of who asks, "" if a token has proved none.
	By string
}

// Replayed is what came of a call of Replay. With First after Last it handed over
// nothing.
type Replayed struct {
	Partition string `json:"partition"`
	First     int64  `json:"first"`
	Last      int64  `json:"last"`
	// To is where it ends: the last event that was asked for, or that Relay had
	// handed over at the first call.
	To int64 `json:"to"`
	// Next is where to continue; absent when it is done.
	Next *int64 `json:"next,omitempty"`
}

// ReadAgain reads what a body asks for: {partition, from, to}, of which from is a
// sequence number or a time, and to may be left out. The error is a
// *problem.Problem.
func ReadAgain(body []byte) (Again, error) {
	var b struct {
		Partition *string `json:"partition"`
		From      *string `json:"from"`
		To        *int64  `json:"to"`
	}
	faults, err := problem.DecodeAll(body, &b)
	if err != nil {
		return Again{}, err
	}
	a := Again{Last: b.To}
	if b.Partition == nil {
		faults.Add("/partition", "is required")
	} else {
		a.Partition = *b.Partition
	}
	if b.To != nil && *b.To < 0 {
		faults.Add("/to", "must be a sequence number from 0")
	}
	if b.From != nil {
		if a.First, err = strconv.ParseInt(*b.From, 10, 64); err == nil && a.First >= 0 {
			return a, faults.Err()
		}
		if _, err := time.Parse(time.RFC3339Nano, *b.From); err != nil {
			faults.Add("/from", "must be a sequence number from 0, or a time as in RFC 3339, such as 2026-01-31T16:00:00Z")
		}
	}
	a.First, a.From = 0, faults.Time("/from", b.From)
	return a, faults.Err()
}

// Replay hands over again what was handed over before: up to MaxReplay events of a
// partition, as messages of the queue, whatever mode Relay is in. It moves no
// checkpoint. What was done is recognized by whoever gets the message, as any
// repeat is; what was missed is done. After a part it returns how far it has come,
// and the next call tells what stopped it.
//
// It refuses, by a *problem.Problem, a partition that the hub does not have, a
// beginning that has not come yet, and one that the hub no longer has.
func (s *Service) Replay(ctx context.Context, a Again) (Replayed, error) {
	hub, err := s.c.Reader.Hub(ctx)
	if err != nil {
		return Replayed{}, err
	}
	faults := &problem.Faults{}
	if !slices.Contains(hub.Partitions, a.Partition) {
		faults.Add("/partition", "must be a partition of the hub, which has %d: %s", len(hub.Partitions), span(hub.Partitions))
		return Replayed{}, faults.Err()
	}
	extent, err := s.c.Reader.Extent(ctx, a.Partition)
	if err != nil {
		return Replayed{}, err
	}
	if err := s.beginning(ctx, &a, extent, faults); err != nil {
		return Replayed{}, err
	}
	at, err := s.stored(ctx, hub, a.Partition)
	if err != nil {
		return Replayed{}, err
	}
	out := Replayed{Partition: a.Partition, First: a.First, Last: a.First - 1, To: at.SequenceNumber}
	if a.Last != nil {
		out.To = min(out.To, *a.Last)
	}
	err = s.again(ctx, &out, "/replay/"+strconv.FormatInt(s.c.Now().UnixMilli(), 10))
	if err != nil && out.Last < out.First {
		return Replayed{}, err
	}
	s.c.Logger.InfoContext(ctx, "events were handed over again", "hub", s.c.Hub, "partition", out.Partition,
		"first", out.First, "last", out.Last, "to", out.To, "by", a.By, "stopped", err)
	if out.Last < out.To {
		next := out.Last + 1
		out.Next = &next
	}
	return out, nil
}

// span names ids from the first to the last.
func span(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return ids[0] + " to " + ids[len(ids)-1]
}

// beginning finds where to begin, and refuses what can't be.
func (s *Service) beginning(ctx context.Context, a *Again, extent Extent, faults *problem.Faults) error {
	switch {
	case a.From.After(s.c.Now()):
		faults.Add("/from", "is in the future")
	case !a.From.IsZero():
		first, err := s.c.Reader.Since(ctx, a.Partition, a.From)
		if err != nil {
			return err
		}
		if a.First = first; first > extent.First || extent.First == 0 {
			return nil
		}
		// That nothing older is there doesn't say that nothing was.
		oldest, err := s.c.Reader.Between(ctx, a.Partition, first-1, first+1)
		if err != nil {
			return err
		}
		if len(oldest) == 0 || a.From.Before(oldest[0].EnqueuedAt.Truncate(time.Millisecond)) {
			faults.Add("/from", "is gone: the hub has the partition from sequence number %d on", extent.First)
		}
	case a.First > extent.Last+1:
		faults.Add("/from", "is in the future: the latest event of the partition has sequence number %d", extent.Last)
	case a.First < extent.First:
		faults.Add("/from", "is gone: the hub has the partition from sequence number %d on", extent.First)
	}
	return faults.Err()
}

// again hands over from where r stands. The ends of the messages' ids are the call's
// own: what the queue has lost of late is sent all the same.
func (s *Service) again(ctx context.Context, r *Replayed, ids string) error {
	send := func(ctx context.Context, b Batch, events []readable) error {
		for i := range events {
			events[i].again = ids
		}
		return s.send(ctx, b, events)
	}
	end := min(r.To, r.First+MaxReplay-1)
	for r.Last < end {
		events, err := s.c.Reader.Between(ctx, r.Partition, r.Last, end+1)
		if err != nil {
			return err
		}
		if len(events) == 0 || events[0].SequenceNumber != r.Last+1 {
			return problem.New(problem.Conflict, "event %d of partition %s has expired meanwhile", r.Last+1, r.Partition)
		}
		events = consecutive(events)
		b := Batch{Hub: s.c.Hub, ConsumerGroup: s.c.ConsumerGroup, Partition: r.Partition, Events: events}
		if err := s.sort(ctx, b, send); err != nil {
			return fmt.Errorf("replay partition %s: %w", r.Partition, err)
		}
		r.Last = events[len(events)-1].SequenceNumber
	}
	return nil
}
