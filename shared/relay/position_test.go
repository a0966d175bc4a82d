package relay

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

// secondHub is when the hub was created again.
var secondHub = now.Add(-time.Hour)

// recreate makes the hub another one, with these events.
func (h *hub) recreate(t *testing.T, from, to int64) {
	h.created = secondHub
	h.holds(t, from, to)
}

func recreated(checkpoint string) []string {
	return []string{"the hub was recreated: requests/3 0-0 0 " + checkpoint}
}

// The trigger may begin anywhere in a hub that was recreated: it has a position of
// its own, of the old hub.
func TestRecreatedHubIsRelayedFromItsBeginning(t *testing.T) {
	cases := []struct {
		name       string
		at         int64
		batch      [2]int64
		checkpoint string
	}{
		{"far behind the checkpoint", 1000, [2]int64{10, 11}, "1000"},
		{"across the checkpoint", 10, [2]int64{10, 11}, "10"},
		{"right after the checkpoint", 9, [2]int64{10, 11}, "9"},
		{"after a gap", 3, [2]int64{10, 11}, "3"},
		{"from its beginning", 1000, [2]int64{0, 1}, "1000"},
	}
	for _, c := range cases {
		for what, alive := range map[string]bool{"an instance that lives through it": true, "a new instance": false} {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				s, q, saved, h := newGaps(t, c.at, 0)
				saved.stored[id] = Checkpoint{ID: id, SequenceNumber: c.at, SavedAt: now, HubCreatedAt: firstHub}
				clock := now
				s.c.Now = func() time.Time { return clock }
				if alive { // it has relayed the last event of the old hub
					if err := h.relay(t, s, c.at, c.at); err != nil {
						t.Fatal(err)
					}
					q.taken = nil
					clock = clock.Add(time.Minute)
				}
				h.recreate(t, 0, 20)
				log := said(s, slog.LevelError)
				if alive && c.at+1 == c.batch[0] { // nothing contradicts: the timer finds it
					if _, err := s.CatchUp(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err := h.relay(t, s, c.batch[0], c.batch[1]); err != nil {
						t.Fatal(err)
					}
				}
				want := append(numbers(0, int(c.batch[1])), numbers(int(c.batch[0]), int(c.batch[1]))...)
				if diff := cmp.Diff(want, ids(q.taken)); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(recreated(c.checkpoint), log()); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
				if got := saved.stored[id]; got.SequenceNumber != c.batch[1] || !got.HubCreatedAt.Equal(secondHub) {
					t.Errorf("checkpoint %+v", got)
				}
			})
		}
	}
}

// A checkpoint from before the hub was kept in it adopts the one that is there,
// but not one that has not come so far.
func TestCheckpointWithoutHub(t *testing.T) {
	for name, c := range map[string]struct {
		at     int64
		want   []string
		errors []string
	}{
		"adopts the hub":       {9, numbers(10, 11), nil},
		"as far as the hub":    {20, numbers(10, 11), nil},
		"further than the hub": {21, numbers(0, 11), recreated("21")},
	} {
		t.Run(name, func(t *testing.T) {
			s, q, saved, h := newGaps(t, -1, 0)
			saved.stored[id] = Checkpoint{ID: id, SequenceNumber: c.at}
			log := said(s, slog.LevelError)
			if err := h.relay(t, s, 10, 11); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ids(q.taken)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.errors, log()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if got := saved.stored[id]; !got.HubCreatedAt.Equal(firstHub) {
				t.Errorf("checkpoint %+v, want the hub in it", got)
			}
		})
	}
}

// A trigger that replays what was relayed is not taken for a new hub, and does not
// make the hub asked with each batch.
func TestReplayIsNoNewHub(t *testing.T) {
	s, _, c, h := newGaps(t, 20, 0)
	clock := now
	s.c.Now = func() time.Time { return clock }
	log := said(s, slog.LevelError)
	for n := int64(0); n < 20; n += 2 {
		if err := h.relay(t, s, n, n+1); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Second)
	}
	if h.asked != 1 || len(log()) != 0 || c.stored[id].SequenceNumber != 20 {
		t.Errorf("the hub was asked %d times, errors %q, checkpoint %+v", h.asked, log(), c.stored[id])
	}
	clock = clock.Add(lookAgain)
	if err := h.relay(t, s, 0, 1); err != nil || h.asked != 2 {
		t.Errorf("%v, the hub was asked %d times", err, h.asked)
	}
}

// What goes on without contradiction asks the hub once per instance.
func TestHubIsAskedOnce(t *testing.T) {
	s, _, _, h := newGaps(t, 4, 0)
	clock := now
	s.c.Now = func() time.Time { return clock }
	for n := int64(5); n < 15; n++ {
		clock = clock.Add(time.Hour)
		if err := h.relay(t, s, n, n); err != nil {
			t.Fatal(err)
		}
	}
	if h.asked != 1 {
		t.Errorf("the hub was asked %d times", h.asked)
	}
}

// In a quiet partition of a recreated hub CatchUp hands over what is there: the
// trigger waits for a place that the new hub does not have yet.
func TestCatchUpInARecreatedHub(t *testing.T) {
	s, q, c, h := newQuiet(t, 14)
	if _, err := s.CatchUp(t.Context()); err != nil { // it lives through it
		t.Fatal(err)
	}
	q.taken = nil
	h.recreate(t, 0, 3)
	log := said(s, slog.LevelError)
	s.c.Now = func() time.Time { return now.Add(time.Hour) }
	for range 2 {
		if _, err := s.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(numbers(0, 3), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(recreated("20"), log()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if got := c.stored[id]; got.SequenceNumber != 3 || !got.HubCreatedAt.Equal(secondHub) {
		t.Errorf("checkpoint %+v", got)
	}
}

// A hub that ends before the checkpoint is another one, whatever it says of its
// creation: after a failover, for example.
func TestCatchUpInAHubThatEndsBeforeTheCheckpoint(t *testing.T) {
	s, q, c, _ := newQuiet(t, 1000)
	log := said(s, slog.LevelError)
	for range 2 { // as much as one run does, and the rest
		if _, err := s.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.c.Now = func() time.Time { return now.Add(time.Hour) }
	}
	if diff := cmp.Diff(numbers(0, 20), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(recreated("1000"), log()); diff != "" || c.stored[id].SequenceNumber != 20 {
		t.Errorf("checkpoint %+v, errors (-want +got):\n%s", c.stored[id], diff)
	}
}

// Another instance that finds the new hub moves the checkpoint back while this one
// hands over a batch: what lies between is not passed over.
func TestCheckpointGoesBackMeanwhile(t *testing.T) {
	s, q, c, h := newGaps(t, 9, 0)
	q.refuse = func([]engine.Queued) error {
		q.refuse = nil
		h.created = secondHub
		c.etag++
		c.stored[id] = Checkpoint{ID: id, SequenceNumber: -1, HubCreatedAt: secondHub}
		return nil
	}
	if err := h.relay(t, s, 10, 11); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(numbers(10, 11), numbers(0, 9)...), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := c.stored[id]; got.SequenceNumber != 11 || !got.HubCreatedAt.Equal(secondHub) {
		t.Errorf("checkpoint %+v", got)
	}
}

// A batch of the old hub that comes late is relayed, and does not become the
// position in the new one.
func TestBatchOfTheOldHub(t *testing.T) {
	s, q, c, h := newGaps(t, 999, 0)
	h.recreate(t, 0, 3)
	if err := h.relay(t, s, 1000, 1001); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(numbers(0, 3), numbers(1000, 1001)...), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := c.stored[id]; got.SequenceNumber != 3 || !got.HubCreatedAt.Equal(secondHub) {
		t.Errorf("checkpoint %+v", got)
	}
}

func TestHubThatDoesNotAnswer(t *testing.T) {
	s, q, _, h := newGaps(t, 4, 0)
	h.fail = errDown
	if err := h.relay(t, s, 5, 6); !errors.Is(err, errDown) || len(q.taken) != 0 {
		t.Errorf("got %v, %d messages, want that the batch comes again", err, len(q.taken))
	}
	h.fail = nil
	if err := h.relay(t, s, 5, 6); err != nil || len(q.taken) != 2 {
		t.Errorf("got %v, %d messages", err, len(q.taken))
	}
}
