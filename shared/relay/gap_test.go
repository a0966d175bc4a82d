package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

var errDown = failure.New(failure.Transient, "test", "", errors.New("down"))

// checkpoints keeps checkpoints in memory. The hooks run before an operation
// and may fail it.
type checkpoints struct {
	stored map[string]Checkpoint
	etag   int
	onRead func() error
	onSave func() error
	saves  int
}

func (c *checkpoints) Read(_ context.Context, id string) (Checkpoint, string, error) {
	if c.onRead != nil {
		if err := c.onRead(); err != nil {
			return Checkpoint{}, "", err
		}
	}
	if found, ok := c.stored[id]; ok {
		return found, fmt.Sprint(c.etag), nil
	}
	return Checkpoint{}, "", failure.New(failure.NotFound, "read checkpoint", id, nil)
}

func (c *checkpoints) Save(_ context.Context, p Checkpoint, etag string) (string, error) {
	c.saves++
	if c.onSave != nil {
		if err := c.onSave(); err != nil {
			return "", err
		}
	}
	_, exists := c.stored[p.ID]
	if exists && etag != fmt.Sprint(c.etag) || !exists && etag != "" {
		return "", failure.New(failure.Conflict, "save checkpoint", p.ID, nil)
	}
	c.etag++
	c.stored[p.ID] = p
	return fmt.Sprint(c.etag), nil
}

// hub has the events of partition 3, from the oldest that has not expired. It
// gives at most two at a time.
type hub struct {
	created    time.Time
	events     []Event
	last       int64 // of the latest event ever
	partitions []string
	enqueued   time.Time // each event
	reads      int       // of events
	asked      int       // what it is
	fail       error
}

func (h *hub) Hub(context.Context) (Hub, error) {
	h.asked++
	return Hub{CreatedAt: h.created, Partitions: h.partitions}, h.fail
}

func (h *hub) Extent(_ context.Context, partition string) (Extent, error) {
	switch {
	case h.fail != nil:
		return Extent{}, h.fail
	case partition != "3":
		return Extent{Last: -1}, nil
	case len(h.events) == 0:
		return Extent{First: h.last + 1, Last: h.last}, nil
	}
	return Extent{First: h.events[0].SequenceNumber, Last: h.last}, nil
}

func (h *hub) Between(_ context.Context, _ string, after, before int64) ([]Event, error) {
	h.reads++
	if h.fail != nil {
		return nil, h.fail
	}
	var out []Event
	for _, e := range h.events {
		if e.SequenceNumber > after && e.SequenceNumber < before && len(out) < 2 {
			e.EnqueuedAt = h.enqueued
			out = append(out, e)
		}
	}
	return out, nil
}

// Since takes the seconds since the first event, a minute before now, for sequence
// numbers.
func (h *hub) Since(_ context.Context, _ string, at time.Time) (int64, error) {
	for _, e := range h.events {
		if !takenAt(e.SequenceNumber).Before(at) {
			return e.SequenceNumber, h.fail
		}
	}
	return h.last + 1, h.fail
}

// takenAt is when the hub took an event, where Since is asked.
func takenAt(n int64) time.Time { return now.Add(time.Duration(n)*time.Second - time.Minute) }

const id = "requests.relay.3"

// firstHub is when the hub of newGaps was created.
var firstHub = now.Add(-30 * 24 * time.Hour)

// newGaps returns a Service whose partition was handed over up to and including
// at (-1: there is no checkpoint), and whose hub has the events from oldest
// to 20.
func newGaps(t *testing.T, at, oldest int64) (*Service, *queue, *checkpoints, *hub) {
	s, q, _ := newService(t)
	c := &checkpoints{stored: map[string]Checkpoint{}}
	if at >= 0 {
		c.stored[id] = Checkpoint{ID: id, SequenceNumber: at, HubCreatedAt: firstHub}
	}
	h := &hub{created: firstHub, partitions: []string{"3"}}
	h.holds(t, oldest, 20)
	s.c.Checkpoints, s.c.Reader = c, h
	return s, q, c, h
}

// holds makes these the events that the hub has.
func (h *hub) holds(t *testing.T, from, to int64) {
	h.events, h.last = nil, to
	for n := from; n <= to; n++ {
		h.events = append(h.events, good(t, n))
	}
}

// without takes events out of the hub.
func (h *hub) without(from, to int64) {
	h.events = slices.DeleteFunc(h.events, func(e Event) bool { return from <= e.SequenceNumber && e.SequenceNumber <= to })
}

// relay relays the events with these sequence numbers.
func (h *hub) relay(t *testing.T, s *Service, from, to int64) error {
	t.Helper()
	var events []Event
	for n := from; n <= to; n++ {
		events = append(events, good(t, n))
	}
	return s.Relay(t.Context(), batch(events...))
}

func numbers(from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		out = append(out, fmt.Sprint("o-", n))
	}
	return out
}

func TestGapIsFilledFromTheHub(t *testing.T) {
	cases := []struct {
		name       string
		at, oldest int64
		batch      [2]int64
		want       []string
	}{
		{"no gap", 4, 0, [2]int64{5, 6}, numbers(5, 6)},
		{"a gap", 4, 0, [2]int64{10, 11}, numbers(5, 11)},
		{"a gap of one", 4, 0, [2]int64{6, 6}, numbers(5, 6)},
		{"a gap that has expired in part", 4, 8, [2]int64{10, 11}, numbers(8, 11)},
		{"a gap that has expired", 4, 10, [2]int64{10, 11}, numbers(10, 11)},
		{"a batch that comes again", 6, 0, [2]int64{5, 6}, numbers(5, 6)},
		{"the first batch", -1, 0, [2]int64{0, 1}, numbers(0, 1)},
		{"the first batch is skipped", -1, 0, [2]int64{3, 4}, numbers(0, 4)},
		{"the first batch of an old hub", -1, 10, [2]int64{10, 11}, numbers(10, 11)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, q, saved, h := newGaps(t, c.at, c.oldest)
			if err := h.relay(t, s, c.batch[0], c.batch[1]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ids(q.taken)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if got := saved.stored[id].SequenceNumber; got != max(c.at, c.batch[1]) {
				t.Errorf("checkpoint %d, want %d", got, c.batch[1])
			}
		})
	}
}

func TestConsecutiveBatchesReadNothing(t *testing.T) {
	s, _, c, h := newGaps(t, -1, 0)
	reads := 0
	c.onRead = func() error { reads++; return nil }
	for n := int64(0); n < 10; n += 2 {
		if err := h.relay(t, s, n, n+1); err != nil {
			t.Fatal(err)
		}
	}
	if h.reads != 0 || reads != 1 || c.saves != 5 {
		t.Errorf("%d reads of the hub, %d of the checkpoint, %d saves", h.reads, reads, c.saves)
	}
}

// What failed and was skipped by the trigger comes with the next batch.
func TestSkippedBatchIsNotLost(t *testing.T) {
	s, q, _, h := newGaps(t, 4, 0)
	q.refuse = func([]engine.Queued) error { return errDown }
	if err := h.relay(t, s, 5, 7); !errors.Is(err, errDown) {
		t.Fatalf("got %v", err)
	}
	q.refuse = nil
	if err := h.relay(t, s, 8, 9); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers(5, 9), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A gap that can't be filled at once is filled from where the last attempt got
// to.
func TestGapIsFilledByParts(t *testing.T) {
	s, q, c, h := newGaps(t, 0, 0)
	q.refuse = func(messages []engine.Queued) error {
		if messages[0].MessageID == "o-5" {
			return errDown
		}
		return nil
	}
	if err := h.relay(t, s, 9, 9); !errors.Is(err, errDown) || c.stored[id].SequenceNumber != 4 {
		t.Fatalf("got %v with checkpoint %+v, want 4", err, c.stored[id])
	}
	q.refuse = nil
	if err := h.relay(t, s, 9, 9); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers(1, 9), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// An instance that gets a partition back does not take for a gap what another
// has handed over in between.
func TestPartitionComesBack(t *testing.T) {
	s, q, c, h := newGaps(t, -1, 0)
	if err := h.relay(t, s, 0, 1); err != nil {
		t.Fatal(err)
	}
	c.etag++ // the other instance
	c.stored[id] = Checkpoint{ID: id, SequenceNumber: 10}
	if err := h.relay(t, s, 11, 12); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(numbers(0, 1), numbers(11, 12)...), ids(q.taken)); diff != "" || h.reads != 0 {
		t.Errorf("%d reads of the hub, messages (-want +got):\n%s", h.reads, diff)
	}
}

// A checkpoint that another instance moves while a batch is handed over never
// goes back.
func TestCheckpointNeverGoesBack(t *testing.T) {
	for name, other := range map[string]int64{"further": 15, "less far": 6} {
		t.Run(name, func(t *testing.T) {
			s, _, c, h := newGaps(t, 4, 0)
			c.onSave = func() error {
				c.onSave = nil
				c.etag++
				c.stored[id] = Checkpoint{ID: id, SequenceNumber: other}
				return nil
			}
			if err := h.relay(t, s, 5, 9); err != nil {
				t.Fatal(err)
			}
			if got := c.stored[id].SequenceNumber; got != max(other, 9) {
				t.Errorf("checkpoint %d, want %d", got, max(other, 9))
			}
		})
	}
}

func TestCheckpointIsGone(t *testing.T) {
	s, _, c, h := newGaps(t, -1, 0)
	if err := h.relay(t, s, 0, 1); err != nil {
		t.Fatal(err)
	}
	delete(c.stored, id)
	if err := h.relay(t, s, 2, 3); err != nil || c.stored[id].SequenceNumber != 3 {
		t.Errorf("got %v with checkpoint %+v", err, c.stored[id])
	}
}

func TestGapFailures(t *testing.T) {
	cases := map[string]func(*checkpoints, *hub){
		"read of the checkpoint": func(c *checkpoints, _ *hub) { c.onRead = func() error { return errDown } },
		"save of the checkpoint": func(c *checkpoints, _ *hub) { c.onSave = func() error { return errDown } },
		"read of the hub":        func(_ *checkpoints, h *hub) { h.fail = errDown },
	}
	for name, broken := range cases {
		t.Run(name, func(t *testing.T) {
			s, _, c, h := newGaps(t, 4, 0)
			broken(c, h)
			if err := h.relay(t, s, 9, 9); !errors.Is(err, errDown) {
				t.Errorf("got %v, want that the batch comes again", err)
			}
		})
	}
}

// Somebody who moves the checkpoint all the time does not hold an ended
// invocation.
func TestEndedInvocation(t *testing.T) {
	s, _, c, h := newGaps(t, 4, 0)
	ctx, cancel := context.WithCancel(t.Context())
	c.onSave = func() error {
		cancel()
		return failure.New(failure.Conflict, "save", id, nil)
	}
	if err := s.Relay(ctx, batch(h.events[5])); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
