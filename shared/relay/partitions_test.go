package relay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// claims are what the host keeps.
type claims []Claim

func (c claims) Claims(_ context.Context, hub string) ([]Claim, error) {
	if hub != "requests" {
		return nil, errors.New("another hub")
	}
	return c, nil
}

func TestPartitionsTellWhoReadsWhatAndHowFar(t *testing.T) {
	s, _, saved, h := newGaps(t, 17, 4)
	h.partitions, h.enqueued = []string{"0", "3"}, now.Add(-90*time.Second)
	since := now.Add(-time.Hour)
	saved.stored[id] = Checkpoint{ID: id, SequenceNumber: 17, HubCreatedAt: firstHub, By: "b.2", Since: since}
	s.c.Triggers = claims{
		{ConsumerGroup: "Audit", Partition: "3", Owner: "x", RenewedAt: now, Checkpoint: 2}, // what follows has expired in part
		{ConsumerGroup: "RELAY", Partition: "3", Owner: "y", RenewedAt: now, Checkpoint: 14},
		{ConsumerGroup: "relay", Partition: "9", Owner: "of a partition that is not there"},
	}
	got, err := s.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	handedOver := int64(17)
	want := []Partition{
		{ConsumerGroup: "Audit", Partition: "0", Checkpoint: -1, Last: -1},
		{ConsumerGroup: "Audit", Partition: "3", Owner: "x", RenewedAt: now, Checkpoint: 2, First: 4, Last: 20, Lag: 17,
			OldestUnreadAt: now.Add(-90 * time.Second), UnreadSeconds: 90},
		{ConsumerGroup: "relay", Partition: "0", Checkpoint: -1, Last: -1},
		{ConsumerGroup: "relay", Partition: "3", Owner: "y", RenewedAt: now, Checkpoint: 14, HandedOver: &handedOver, Reader: "b.2", Since: since,
			First: 4, Last: 20, Lag: 6, OldestUnreadAt: now.Add(-90 * time.Second), UnreadSeconds: 90},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is stored of a deleted hub says nothing of the one that is there.
func TestPartitionsOfARecreatedHub(t *testing.T) {
	s, _, _, h := newGaps(t, 1000, 0)
	h.recreate(t, 0, 4)
	h.enqueued = now
	s.c.Triggers = claims{{ConsumerGroup: "relay", Partition: "3", Owner: "y", Checkpoint: 1000}}
	got, err := s.Partitions(t.Context())
	if err != nil || len(got) != 1 || got[0].HandedOver != nil || got[0].Lag != 5 {
		t.Errorf("got %+v, %v; want that nothing is handed over, and all five are to be read", got, err)
	}
	h.fail = errDown
	if _, err := s.Partitions(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("without a hub: %v", err)
	}
}

// The checkpoint says which process reads a partition, and since when.
func TestCheckpointsNameTheReader(t *testing.T) {
	s, _, saved, h := newGaps(t, 4, 0)
	clock := now
	s.c.Now = func() time.Time { return clock }
	other := New(s.c)
	s.c.Process, other.c.Process = "a.1", "b.2"
	for i, step := range []struct {
		by    *Service
		name  string
		since time.Duration
	}{{s, "a.1", 0}, {s, "a.1", 0}, {other, "b.2", 2 * time.Minute}, {other, "b.2", 2 * time.Minute}, {s, "a.1", 4 * time.Minute}} {
		clock = now.Add(time.Duration(i) * time.Minute)
		if err := h.relay(t, step.by, int64(5+i), int64(5+i)); err != nil {
			t.Fatal(err)
		}
		if c := saved.stored[id]; c.By != step.name || !c.Since.Equal(now.Add(step.since)) || !c.SavedAt.Equal(clock) {
			t.Errorf("batch %d: %+v, want %s since %v", i, c, step.name, step.since)
		}
	}
	// The timer, wherever it runs, is no reader.
	h.enqueued, clock = now, now.Add(time.Hour)
	if n, err := other.CatchUp(t.Context()); err != nil || n == 0 || saved.stored[id].By != "a.1" {
		t.Errorf("%d events, %v, by %s", n, err, saved.stored[id].By)
	}
}

// What is behind counts from what was handed over, or from what is still there.
func TestBehind(t *testing.T) {
	s, _, saved, h := newGaps(t, 17, 4)
	saved.stored[id] = Checkpoint{ID: id, SequenceNumber: 17}
	for _, c := range []struct {
		handedOver, want int64
	}{{17, 3}, {20, 0}, {1, 17}} {
		saved.stored[id] = Checkpoint{ID: id, SequenceNumber: c.handedOver}
		if n, err := s.Behind(t.Context()); err != nil || n != c.want {
			t.Errorf("%d handed over: %d behind, want %d, %v", c.handedOver, n, c.want, err)
		}
	}
	delete(saved.stored, id)
	if n, err := s.Behind(t.Context()); err != nil || n != 17 {
		t.Errorf("nothing handed over: %d, %v", n, err)
	}
	h.fail = errDown
	if _, err := s.Behind(t.Context()); !errors.Is(err, errDown) {
		t.Errorf("without a hub: %v", err)
	}
}
