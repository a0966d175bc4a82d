// Package relay copies events from the hub to Schedule's queue, or has them run where
// they arrive (run.go, docs/adr/0029-three-ways.md). It is the only reader that
// moves a position in the hub.
//
// A batch is done when all its events are durable elsewhere: a readable event
// as a message of the queue or in its transaction's document, an unreadable one in
// quarantine. Until then Relay returns an error and the whole batch comes again; the
// MessageID makes the messages of such a repeat duplicates, which the queue drops, and
// the document recognizes what was run.
//
// The Event Hubs trigger can skip an unfinished batch, since it writes its
// checkpoint even after a failure. So Relay keeps its own checkpoint, and reads
// skipped events from the hub: with the partition's next batch (gap.go), or, if
// none comes, by the timer (catchup.go). Events that the hub no longer has are
// an error, which names them. The checkpoint counts only in its own hub: a
// recreated hub is relayed from its beginning (position.go).
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// ReasonTooLarge is the reason of an event that the queue refuses to take.
const ReasonTooLarge = "TooLarge"

// Batch is some consecutive events of one partition.
type Batch struct {
	Hub, ConsumerGroup, Partition string
	Events                        []Event
}

// Event is one event as the trigger delivers it.
type Event struct {
	SequenceNumber int64
	EnqueuedAt     time.Time
	Body           []byte
	Properties     map[string]any
}

// Quarantine keeps what is unreadable.
type Quarantine interface {
	Keep(ctx context.Context, e quarantine.Entry) error
}

// Config is what a Service needs.
type Config struct {
	Shard      shard.Number // whose hub it is; 0 is the first
	Queue      string       // the name of the queue that the messages go to
	Sender     engine.Sender
	Quarantine Quarantine
	// Runner works off what the trigger brings. Nil: the queue gets all of it.
	Runner *Runner
	// Checkpoints and Reader find and fill the gaps that the trigger leaves.
	Checkpoints Checkpoints
	Reader      Reader
	// Triggers tell operators who reads which partition.
	Triggers Triggers
	// Process names this process in the checkpoints.
	Process string
	// Hub and ConsumerGroup are the trigger's.
	Hub, ConsumerGroup string
	// Quiet is how long an event must have waited, and the checkpoint stood still,
	// before CatchUp does the trigger's work in a partition.
	Quiet time.Duration
	// Lost is told how many events have expired before they were relayed. May be
	// nil.
	Lost   func(ctx context.Context, events int64)
	Now    func() time.Time // safe for concurrent use
	Logger *slog.Logger
}

// Service relays. It is safe for concurrent use.
type Service struct {
	c Config

	mu      sync.Mutex
	known   map[string]position // by the checkpoint's id
	created time.Time           // when the hub was created, by the latest answer
	looked  time.Time           // when it was asked; zero: not yet
}

// New returns a Service.
func New(c Config) *Service { return &Service{c: c, known: map[string]position{}} }

// Relay hands the batch over, and what the trigger has skipped before it, and
// returns nil only when all of that is durable. An event with a schema that is
// newer than this code knows is an error, so that it is retried until an
// instance is there that knows it; the other events of its batch go on.
func (s *Service) Relay(ctx context.Context, b Batch) error {
	for left := b.Events; len(left) > 0; {
		b.Events = consecutive(left)
		left = left[len(b.Events):]
		if err := s.relay(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// relay relays events without a gap between them.
func (s *Service) relay(ctx context.Context, b Batch) error {
	last := b.Events[len(b.Events)-1].SequenceNumber
	for handedOver := false; ; {
		at, err := s.fillGap(ctx, b)
		stray := errors.Is(err, errStray)
		if err != nil && !stray {
			return err
		}
		if !handedOver {
			if err := s.handle(ctx, b); err != nil {
				return err
			}
			handedOver = true
		}
		if stray {
			s.c.Logger.WarnContext(ctx, "events of a deleted hub are relayed; the checkpoint stays",
				"hub", b.Hub, "partition", b.Partition, "first", b.Events[0].SequenceNumber, "last", last, "reason", err)
			return nil
		}
		if at.sequence >= last {
			return nil
		}
		at.sequence, at.savedAt = last, s.c.Now().UTC()
		if at.by != s.c.Process {
			at.by, at.since = s.c.Process, at.savedAt
		}
		_, err = s.save(ctx, b, at)
		if !failure.Is(err, failure.Conflict) {
			return err
		}
		// Another instance has moved the checkpoint, and may have moved it back.
		if ctx.Err() != nil {
			return fmt.Errorf("save checkpoint %s: %w", checkpointID(b), context.Cause(ctx))
		}
	}
}

// handle makes what the trigger brings durable.
func (s *Service) handle(ctx context.Context, b Batch) error {
	if s.c.Runner == nil {
		return s.handOver(ctx, b)
	}
	return s.sort(ctx, b, s.run)
}

// handOver makes the events of a batch durable as messages of the queue.
func (s *Service) handOver(ctx context.Context, b Batch) error { return s.sort(ctx, b, s.send) }

// sort gives do what can be read of a batch. What can't be read goes to quarantine,
// or waits for an instance that can read it.
func (s *Service) sort(ctx context.Context, b Batch, do func(context.Context, Batch, []readable) error) error {
	var events []readable
	var newer error
	for _, e := range b.Events {
		envelope, err := engine.DecodeIn(s.c.Shard, e.Body)
		if err == nil && envelope.OperationID == "" {
			err = errors.New("the envelope names no operation")
		}
		switch {
		case err == nil:
			events = append(events, readable{Event: e, envelope: envelope})
		case errors.Is(err, engine.ErrNewerSchema):
			newer = fmt.Errorf("relay event %d of partition %s: %w", e.SequenceNumber, b.Partition, err)
		default:
			reason := quarantine.ReasonUnreadable
			if errors.Is(err, engine.ErrOtherShard) {
				reason = quarantine.ReasonOtherShard
			}
			if err := s.keep(ctx, b, e, reason, err); err != nil {
				return err
			}
		}
	}
	if err := do(ctx, b, events); err != nil {
		return err
	}
	s.c.Logger.DebugContext(ctx, "relayed", "partition", b.Partition,
		"first", b.Events[0].SequenceNumber, "events", len(b.Events), "readable", len(events))
	return newer
}

// send sends the messages in as few batches as possible. Should the queue
// refuse one for good, each is sent alone, so that only that one is kept back.
func (s *Service) send(ctx context.Context, b Batch, events []readable) error {
	if len(events) == 0 {
		return nil
	}
	messages := make([]engine.Queued, len(events))
	for i, e := range events {
		messages[i] = s.message(e)
	}
	err := s.c.Sender.Send(ctx, messages...)
	if err == nil {
		return nil
	}
	if !failure.Is(err, failure.Invalid) {
		return fmt.Errorf("relay %d events of partition %s: %w", len(messages), b.Partition, err)
	}
	for i, m := range messages {
		err := s.c.Sender.Send(ctx, m)
		if failure.Is(err, failure.Invalid) {
			err = s.keep(ctx, b, events[i].Event, ReasonTooLarge, err)
		}
		if err != nil {
			return fmt.Errorf("relay event %d of partition %s: %w", events[i].SequenceNumber, b.Partition, err)
		}
	}
	return nil
}

func (s *Service) keep(ctx context.Context, b Batch, e Event, reason string, cause error) error {
	entry := quarantine.Entry{
		Source: quarantine.EventSource(b.Hub, b.Partition), SequenceNumber: e.SequenceNumber,
		Reason: reason, Detail: cause.Error(), Properties: e.Properties,
		TransactionID: quarantine.TransactionOf(e.Body),
	}
	entry.SetBody(e.Body)
	return s.c.Quarantine.Keep(ctx, entry)
}
