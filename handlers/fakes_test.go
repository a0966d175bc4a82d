package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// hub is an event hub in memory, with two partitions.
type hub struct {
	down *atomic.Bool
	hold chan struct{} // when set, sends wait for it
	held chan struct{} // when set, gets a token for each send that waits; buffered
	// loses makes sends fail that took place.
	loses atomic.Bool
	// skipped are events that only Between gives.
	skipped   []relay.Event
	failReads atomic.Bool

	mu     sync.Mutex
	bodies [][]byte
}

func (h *hub) Partitions(context.Context) ([]string, error) { return []string{"0", "1"}, nil }

// Hub returns a hub that was never recreated.
func (h *hub) Hub(ctx context.Context) (relay.Hub, error) {
	if h.down.Load() {
		return relay.Hub{}, failure.New(failure.Transient, "read hub", "", errors.New("connection refused"))
	}
	partitions, err := h.Partitions(ctx)
	return relay.Hub{CreatedAt: time.Unix(1_700_000_000, 0), Partitions: partitions}, err
}

func (h *hub) Send(ctx context.Context, _ string, events []ingest.Event) error {
	if h.hold != nil {
		if h.held != nil {
			h.held <- struct{}{}
		}
		select {
		case <-h.hold:
		case <-ctx.Done():
			return failure.New(failure.Transient, "send", "", ctx.Err())
		}
	}
	if h.down.Load() {
		return failure.New(failure.Transient, "send", "", errors.New("connection refused"))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.bodies = append(h.bodies, e.Body)
	}
	if h.loses.Load() {
		return failure.New(failure.Transient, "send", "", errors.New("the acknowledgement is lost"))
	}
	return nil
}

func (h *hub) take() [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	bodies := h.bodies
	h.bodies = nil
	return bodies
}

// Extent returns that of the events that the trigger is said to have skipped,
// which are all in partition 0.
func (h *hub) Extent(_ context.Context, partition string) (relay.Extent, error) {
	if h.failReads.Load() {
		return relay.Extent{}, failure.New(failure.Transient, "read properties", partition, errors.New("connection refused"))
	}
	if partition != "0" || len(h.skipped) == 0 {
		return relay.Extent{Last: -1}, nil
	}
	return relay.Extent{First: h.skipped[0].SequenceNumber, Last: h.skipped[len(h.skipped)-1].SequenceNumber}, nil
}

// Between returns the events that the trigger is said to have skipped.
func (h *hub) Between(_ context.Context, _ string, after, before int64) ([]relay.Event, error) {
	var events []relay.Event
	for _, e := range h.skipped {
		if e.SequenceNumber > after && e.SequenceNumber < before {
			events = append(events, e)
		}
	}
	return events, nil
}

// Since returns the number of the first of those that was taken at that time.
func (h *hub) Since(_ context.Context, _ string, at time.Time) (int64, error) {
	for _, e := range h.skipped {
		if !e.EnqueuedAt.Before(at) {
			return e.SequenceNumber, nil
		}
	}
	return 0, nil
}

// Claims returns that somebody reads partition 0.
func (h *hub) Claims(_ context.Context, hub string) ([]relay.Claim, error) {
	if h.down.Load() {
		return nil, failure.New(failure.Transient, "list", hub, errors.New("connection refused"))
	}
	return []relay.Claim{{ConsumerGroup: "relay", Partition: "0", Owner: "host-1/Relay", RenewedAt: time.Unix(1_700_000_100, 0), Checkpoint: 2}}, nil
}

// checkpoints keeps checkpoints in memory. The ETag is the sequence number.
type checkpoints struct {
	mu   sync.Mutex
	kept map[string]relay.Checkpoint
}

func (s *checkpoints) Read(_ context.Context, id string) (relay.Checkpoint, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.kept[id]
	if !ok {
		return c, "", failure.New(failure.NotFound, "read checkpoint", id, nil)
	}
	return c, strconv.FormatInt(c.SequenceNumber, 10), nil
}

func (s *checkpoints) Save(_ context.Context, c relay.Checkpoint, etag string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.kept[c.ID]
	if ok != (etag != "") || ok && strconv.FormatInt(old.SequenceNumber, 10) != etag {
		return "", failure.New(failure.Conflict, "save checkpoint", c.ID, nil)
	}
	s.kept[c.ID] = c
	return strconv.FormatInt(c.SequenceNumber, 10), nil
}

// requests keeps requests in memory.
type requests struct {
	down *atomic.Bool
	mu   sync.Mutex
	kept map[string]ingest.RequestRecord
}

func (s *requests) CreateIfAbsent(_ context.Context, r ingest.RequestRecord) (ingest.RequestRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.Load() {
		return r, failure.New(failure.Transient, "create request", r.ID, nil)
	}
	if kept, ok := s.kept[r.ID]; ok {
		return kept, nil
	}
	s.kept[r.ID] = r
	return r, nil
}

func (s *requests) Read(_ context.Context, id string) (ingest.RequestRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.Load() {
		return ingest.RequestRecord{}, failure.New(failure.Transient, "read request", id, nil)
	}
	if kept, ok := s.kept[id]; ok {
		return kept, nil
	}
	return ingest.RequestRecord{}, failure.New(failure.NotFound, "read request", id, nil)
}

func (s *requests) Replace(_ context.Context, r ingest.RequestRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[r.ID] = r
	return nil
}

// shardMaps keeps the map of the shards.
type shardMaps struct {
	down   *atomic.Bool
	mu     sync.Mutex
	stored *shard.Map
}

func (m *shardMaps) Read(context.Context) (*shard.Map, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.down.Load():
		return nil, "", failure.New(failure.Transient, "read map", "", nil)
	case m.stored == nil:
		return nil, "", failure.New(failure.NotFound, "read map", "", nil)
	}
	return m.stored, strconv.Itoa(m.stored.Version), nil
}

func (m *shardMaps) Write(_ context.Context, next *shard.Map, etag string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stored == nil && etag != "" || m.stored != nil && etag != strconv.Itoa(m.stored.Version) {
		return failure.New(failure.Conflict, "write map", "", nil)
	}
	m.stored = next
	return nil
}

// syncBuffer is a log that many write.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// reset forgets what was written.
func (b *syncBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// counts tells of queues that are empty.
func (w *world) counts(context.Context) ([]operate.QueueCount, error) {
	if w.down.Load() {
		return nil, failure.New(failure.Transient, "count", "", errors.New("connection refused"))
	}
	return []operate.QueueCount{{Queue: "transactions"}}, nil
}
