package relay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

// newQuiet returns a Service whose partition 3 was handed over up to at, and has
// events from 0 to 20, all of that long ago.
func newQuiet(t *testing.T, at int64) (*Service, *queue, *checkpoints, *hub) {
	s, q, c, h := newGaps(t, at, 0)
	h.enqueued = now.Add(-time.Hour)
	if saved, ok := c.stored[id]; ok {
		saved.SavedAt = now.Add(-time.Hour)
		c.stored[id] = saved
	}
	return s, q, c, h
}

func TestCatchUpInAQuietPartition(t *testing.T) {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	cases := []struct {
		name            string
		at              int64
		enqueued, saved time.Time
		want            []string
	}{
		{"a gap at the end", 14, ago(time.Hour), ago(time.Hour), numbers(15, 20)},
		{"nothing was ever handed over", -1, ago(time.Hour), time.Time{}, numbers(0, 19)},
		{"up to date", 20, ago(time.Hour), ago(time.Hour), nil},
		{"just long enough", 19, ago(121 * time.Second), ago(121 * time.Second), numbers(20, 20)},
		{"a new event", 14, ago(119 * time.Second), ago(time.Hour), nil},
		{"the trigger works off a backlog", 14, ago(time.Hour), ago(119 * time.Second), nil},
		{"a checkpoint from before there were times", 14, ago(time.Hour), time.Time{}, numbers(15, 20)},
		{"an hour ahead of this clock", 14, ago(-time.Hour), ago(-time.Hour), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, q, saved, h := newQuiet(t, c.at)
			h.enqueued = c.enqueued
			if c.at >= 0 {
				saved.stored[id] = Checkpoint{ID: id, SequenceNumber: c.at, SavedAt: c.saved, HubCreatedAt: firstHub}
			}
			events, err := s.CatchUp(t.Context())
			if err != nil || events != len(c.want) {
				t.Errorf("got %d events, %v", events, err)
			}
			if diff := cmp.Diff(c.want, ids(q.taken)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			after := saved.stored[id]
			if want := c.at + int64(len(c.want)); after.SequenceNumber != max(want, 0) {
				t.Errorf("checkpoint %d, want %d", after.SequenceNumber, want)
			}
			if len(c.want) > 0 && !after.SavedAt.Equal(now) {
				t.Errorf("the checkpoint says that it was saved at %v", after.SavedAt)
			}
		})
	}
}

// One run does a bounded part; the next one goes on when the partition has been
// quiet again.
func TestCatchUpByParts(t *testing.T) {
	s, q, _, _ := newQuiet(t, -1)
	clock := now
	s.c.Now = func() time.Time { return clock }
	for run, want := range []int{20, 0, 1, 0} {
		if run >= 2 {
			clock = clock.Add(3 * time.Minute)
		}
		if events, err := s.CatchUp(t.Context()); err != nil || events != want {
			t.Errorf("run %d: %d events, %v; want %d", run, events, err, want)
		}
	}
	if diff := cmp.Diff(numbers(0, 20), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A partition that is up to date costs no read of its checkpoint, once this
// instance has seen it.
func TestCatchUpRemembers(t *testing.T) {
	s, _, c, h := newQuiet(t, 20)
	reads := 0
	c.onRead = func() error { reads++; return nil }
	for range 3 {
		if _, err := s.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 || h.reads != 0 {
		t.Errorf("%d reads of the checkpoint, %d of events", reads, h.reads)
	}
}

// What the trigger hands over in the meantime, here or in another instance, does
// not move the checkpoint back.
func TestCatchUpBesideTheTrigger(t *testing.T) {
	s, _, c, h := newQuiet(t, 14)
	c.onSave = func() error {
		c.onSave = nil
		return h.relay(t, s, 15, 20)
	}
	if _, err := s.CatchUp(t.Context()); err != nil || c.stored[id].SequenceNumber != 20 {
		t.Errorf("got %v with checkpoint %+v", err, c.stored[id])
	}
	if err := h.relay(t, s, 19, 20); err != nil || c.stored[id].SequenceNumber != 20 {
		t.Errorf("got %v with checkpoint %+v", err, c.stored[id])
	}
}

// shards is a hub of which single partitions fail.
type shards struct {
	*hub
	broken map[string]error
}

func (s *shards) Extent(ctx context.Context, partition string) (Extent, error) {
	if err := s.broken[partition]; err != nil {
		return Extent{}, err
	}
	return s.hub.Extent(ctx, partition)
}

func TestCatchUpGoesOnAfterAFailure(t *testing.T) {
	s, q, _, h := newQuiet(t, 18)
	h.partitions = []string{"0", "3", "7"}
	other := errors.New("other")
	s.c.Reader = &shards{hub: h, broken: map[string]error{"0": errDown, "7": other}}
	events, err := s.CatchUp(t.Context())
	if events != 2 || !errors.Is(err, errDown) || !errors.Is(err, other) {
		t.Errorf("got %d events, %v", events, err)
	}
	if diff := cmp.Diff(numbers(19, 20), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestCatchUpFails(t *testing.T) {
	cases := map[string]func(*queue, *checkpoints, *hub){
		"queue":      func(q *queue, _ *checkpoints, _ *hub) { q.refuse = func([]engine.Queued) error { return errDown } },
		"checkpoint": func(_ *queue, c *checkpoints, _ *hub) { c.onRead = func() error { return errDown } },
		"save":       func(_ *queue, c *checkpoints, _ *hub) { c.onSave = func() error { return errDown } },
		"hub":        func(_ *queue, _ *checkpoints, h *hub) { h.fail = errDown },
	}
	for name, broken := range cases {
		t.Run(name, func(t *testing.T) {
			s, q, c, h := newQuiet(t, 18)
			broken(q, c, h)
			if events, err := s.CatchUp(t.Context()); events != 0 || !errors.Is(err, errDown) {
				t.Errorf("got %d events, %v", events, err)
			}
			if got := c.stored[id].SequenceNumber; got != 18 {
				t.Errorf("checkpoint %d, want that it stays", got)
			}
		})
	}
}
