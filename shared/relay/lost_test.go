package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
)

// said has the service's log written to memory, and returns what reads the lines
// of a level: each as its message and the numbers in it.
func said(s *Service, level slog.Level) func() []string {
	var log bytes.Buffer
	s.c.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	return func() []string {
		var out []string
		for line := range bytes.Lines(log.Bytes()) {
			var l struct {
				Level, Msg, Hub, Partition, Todo string
				First, Last, Events, Checkpoint  int64
			}
			if err := json.Unmarshal(line, &l); err != nil || l.Level != level.String() {
				continue
			}
			out = append(out, fmt.Sprintf("%s: %s/%s %d-%d %d %d", l.Msg, l.Hub, l.Partition, l.First, l.Last, l.Events, l.Checkpoint))
			if level == slog.LevelError && l.Todo == "" {
				out = append(out, "nothing says what to do")
			}
		}
		return out
	}
}

// expired is the line that alerts read.
func expired(first, last int64) string {
	return fmt.Sprintf("events expired before they were relayed: requests/3 %d-%d %d 0", first, last, last-first+1)
}

func TestWhatIsGoneIsAnError(t *testing.T) {
	cases := []struct {
		name       string
		at, oldest int64
		holes      [][2]int64
		batch      [][2]int64
		want       []string // messages
		errors     []string
		lost       int64
	}{
		{name: "all of a gap", at: 4, oldest: 10, batch: [][2]int64{{10, 11}}, want: numbers(10, 11), errors: []string{expired(5, 9)}, lost: 5},
		{name: "the first part of a gap", at: 4, oldest: 8, batch: [][2]int64{{10, 11}}, want: numbers(8, 11), errors: []string{expired(5, 7)}, lost: 3},
		{name: "one event", at: 4, oldest: 6, batch: [][2]int64{{10, 11}}, want: numbers(6, 11), errors: []string{expired(5, 5)}, lost: 1},
		{
			name: "a part in the middle", at: 4, holes: [][2]int64{{7, 8}}, batch: [][2]int64{{12, 12}},
			want: append(numbers(5, 6), numbers(9, 12)...), errors: []string{expired(7, 8)}, lost: 2,
		},
		{
			name: "within what is read at once", at: 4, holes: [][2]int64{{6, 6}, {8, 8}}, batch: [][2]int64{{10, 10}},
			want: append(append(numbers(5, 5), numbers(7, 7)...), numbers(9, 10)...), errors: []string{expired(6, 6), expired(8, 8)}, lost: 2,
		},
		{
			name: "the last part of a gap", at: 4, holes: [][2]int64{{8, 9}}, batch: [][2]int64{{10, 11}},
			want: append(numbers(5, 7), numbers(10, 11)...), errors: []string{expired(8, 9)}, lost: 2,
		},
		{
			name: "within a batch", at: 4, holes: [][2]int64{{7, 9}}, batch: [][2]int64{{5, 6}, {10, 11}},
			want: append(numbers(5, 6), numbers(10, 11)...), errors: []string{expired(7, 9)}, lost: 3,
		},
		{name: "nothing: a batch leaves out what is there", at: 4, batch: [][2]int64{{5, 6}, {10, 11}}, want: append(numbers(5, 6), append(numbers(7, 9), numbers(10, 11)...)...)},
		{name: "what was there before this app", at: -1, oldest: 10, batch: [][2]int64{{12, 12}}, want: numbers(10, 12)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, q, saved, h := newGaps(t, c.at, c.oldest)
			for _, hole := range c.holes {
				h.without(hole[0], hole[1])
			}
			log := said(s, slog.LevelError)
			var lost int64
			s.c.Lost = func(_ context.Context, events int64) { lost += events }
			var events []Event
			for _, run := range c.batch {
				for n := run[0]; n <= run[1]; n++ {
					events = append(events, good(t, n))
				}
			}
			for range 2 { // what comes again says nothing again
				if err := s.Relay(t.Context(), batch(events...)); err != nil {
					t.Fatal(err)
				}
			}
			got := ids(q.taken)
			if diff := cmp.Diff(c.want, got[:min(len(c.want), len(got))]); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.errors, log()); diff != "" || lost != c.lost {
				t.Errorf("%d lost, errors (-want +got):\n%s", lost, diff)
			}
			if got := saved.stored[id].SequenceNumber; got != events[len(events)-1].SequenceNumber {
				t.Errorf("checkpoint %d", got)
			}
		})
	}
}

// The loss is said once, also when the queue is away and the batch comes again.
func TestLossIsSaidOnce(t *testing.T) {
	s, q, _, h := newGaps(t, 4, 8)
	log := said(s, slog.LevelError)
	q.refuse = func([]engine.Queued) error { return errDown }
	for range 3 {
		if err := h.relay(t, s, 10, 11); !errors.Is(err, errDown) {
			t.Fatalf("got %v", err)
		}
	}
	if diff := cmp.Diff([]string{expired(5, 7)}, log()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// A hub that once gives nothing of what it has has not lost it.
func TestSilenceOfTheHubIsNoLoss(t *testing.T) {
	s, q, _, h := newGaps(t, 4, 5)
	log := said(s, slog.LevelError)
	s.c.Reader = &silent{hub: h}
	if err := h.relay(t, s, 10, 11); err != nil || len(log()) != 0 {
		t.Errorf("got %v, errors %q", err, log())
	}
	if diff := cmp.Diff(numbers(5, 11), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// silent gives nothing the first time.
type silent struct {
	*hub
	asked bool
}

func (s *silent) Between(ctx context.Context, partition string, after, before int64) ([]Event, error) {
	if !s.asked {
		s.asked = true
		return nil, nil
	}
	return s.hub.Between(ctx, partition, after, before)
}

// In a quiet partition the loss is said by CatchUp, once, also where the hub has
// no event any more.
func TestCatchUpSaysWhatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		oldest int64
		errors []string
		want   []string
	}{
		"a part": {18, []string{expired(15, 17)}, numbers(18, 20)},
		"all":    {21, []string{expired(15, 20)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, q, saved, h := newQuiet(t, 14)
			h.holds(t, c.oldest, 20)
			log := said(s, slog.LevelError)
			for range 3 {
				if _, err := s.CatchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.c.Now = func() time.Time { return now.Add(time.Hour) }
			}
			if diff := cmp.Diff(c.errors, log()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, ids(q.taken)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if got := saved.stored[id].SequenceNumber; got != 20 {
				t.Errorf("checkpoint %d", got)
			}
		})
	}
}

// A trigger that has come to a stop while new events arrive all the time is
// noticed by what waits, not by the last event.
func TestCatchUpBehindATriggerThatStands(t *testing.T) {
	s, q, _, h := newQuiet(t, 14)
	s.c.Reader = growing{h}
	if events, err := s.CatchUp(t.Context()); err != nil || events != 3 {
		t.Errorf("got %d events, %v", events, err)
	}
	if diff := cmp.Diff(numbers(15, 17), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// growing is a hub whose events from 18 on have just come.
type growing struct{ *hub }

func (g growing) Between(ctx context.Context, partition string, after, before int64) ([]Event, error) {
	events, err := g.hub.Between(ctx, partition, after, before)
	for i := range events {
		if events[i].SequenceNumber >= 18 {
			events[i].EnqueuedAt = now
		}
	}
	return events, err
}
