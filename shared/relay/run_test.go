package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// worker is a Runner's work. It takes a second for an operation.
type worker struct {
	mu      sync.Mutex
	ran     []string // operations, as they ended
	most    int      // at once
	working map[string]bool
	fail    func(e engine.Envelope) error
}

func (w *worker) run(_ context.Context, e engine.Envelope) error {
	w.mu.Lock()
	if w.working[e.TransactionID] {
		panic("two operations of " + e.TransactionID + " at once")
	}
	w.working[e.TransactionID] = true
	w.most = max(w.most, len(w.working))
	w.mu.Unlock()
	time.Sleep(time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.working, e.TransactionID)
	if w.fail != nil {
		if err := w.fail(e); err != nil {
			return err
		}
	}
	w.ran = append(w.ran, e.OperationID)
	return nil
}

func working(s *Service, patient bool, fail func(engine.Envelope) error) *worker {
	w := &worker{working: map[string]bool{}, fail: fail}
	s.c.Runner = &Runner{Run: w.run, InFlight: 3, Patient: patient}
	return w
}

// of is event n, of a transaction.
func of(t *testing.T, n int64, transaction string) Event {
	t.Helper()
	body, err := engine.Envelope{
		TransactionID: transaction, OperationID: fmt.Sprintf("o-%d", n), Operation: "start",
		AcceptedAt: time.Unix(n, 0).UTC(), Body: json.RawMessage(`{}`),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return Event{SequenceNumber: n, Body: body}
}

// Ensure that a batch is done when each of its events is: at most so many
// transactions at once, and those of one transaction in their order.
func TestEventsRunWhereTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q, k := newService(t)
		w := working(s, true, nil)
		var events []Event
		for n := range int64(12) {
			events = append(events, of(t, n, fmt.Sprintf("t-%d", n%5)))
		}
		began := time.Now()
		if err := s.Relay(t.Context(), batch(events...)); err != nil {
			t.Fatal(err)
		}
		if w.most != 3 || len(w.ran) != 12 || time.Since(began) < 4*time.Second {
			t.Errorf("%d at once, %d ran, in %v; want 3 and 12", w.most, len(w.ran), time.Since(began))
		}
		for transaction := range 5 {
			var want, got []string
			for n := transaction; n < 12; n += 5 {
				want = append(want, fmt.Sprintf("o-%d", n))
			}
			for _, id := range w.ran {
				if slices.Contains(want, id) {
					got = append(got, id)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("t-%d (-want +got):\n%s", transaction, diff)
			}
		}
		if len(q.taken)+len(k.kept) != 0 {
			t.Errorf("the queue got %v, the quarantine %v", ids(q.taken), k.kept)
		}
	})
}

// Ensure what becomes of an event that can't be run: the queue gets it, or its batch
// fails and comes again; what no repeat can mend does neither hold its partition nor
// is lost.
func TestWhatCannotBeRun(t *testing.T) {
	away := errors.New("the database is away")
	for name, tc := range map[string]struct {
		patient          bool
		fail             error // of the event o-2; nil panics
		fails            bool  // the batch
		queued           []string
		quarantined, ran int
	}{
		"stream":                 {false, away, false, []string{"o-2"}, 0, 2},
		"batch":                  {true, away, true, nil, 0, 2},
		"stream, a panic":        {false, nil, false, []string{"o-2"}, 0, 2},
		"batch, a panic":         {true, nil, false, []string{"o-2"}, 0, 2},
		"batch, never":           {true, failure.New(failure.Permanent, "write", "t-2", nil), false, []string{"o-2"}, 0, 2},
		"batch, too large":       {true, failure.New(failure.Invalid, "write", "t-2", nil), false, []string{"o-2"}, 0, 2},
		"stream, older than all": {false, engine.ErrTooOld, false, nil, 1, 2},
		"batch, older than all":  {true, engine.ErrTooOld, false, nil, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, q, k := newService(t)
				w := working(s, tc.patient, func(e engine.Envelope) error {
					switch {
					case e.OperationID != "o-2":
						return nil
					case tc.fail == nil:
						panic("no such thing")
					}
					return fmt.Errorf("run: %w", tc.fail)
				})
				err := s.Relay(t.Context(), batch(good(t, 1), good(t, 2), good(t, 3)))
				if (err != nil) != tc.fails || tc.fails && !strings.Contains(err.Error(), "event 2 of partition 3") {
					t.Errorf("%v", err)
				}
				if diff := cmp.Diff(tc.queued, ids(q.taken)); diff != "" || len(w.ran) != tc.ran || len(k.kept) != tc.quarantined {
					t.Errorf("ran %v, kept %v, queued (-want +got):\n%s", w.ran, k.kept, diff)
				}
				for _, e := range k.kept {
					if e.Reason != quarantine.ReasonExpired || e.TransactionID != "t-2" || e.SequenceNumber != 2 {
						t.Errorf("kept %+v", e)
					}
				}
				c, _, _ := s.c.Checkpoints.Read(t.Context(), "requests.relay.3")
				if (c.SequenceNumber < 3) != tc.fails {
					t.Errorf("the checkpoint is at %d", c.SequenceNumber)
				}
			})
		})
	}
}

// Ensure that the events of a transaction wait behind one that must come again, and
// those of others do not; and that all are run when the batch does.
func TestEventsWaitBehindOneThatComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newService(t)
		away := true
		w := working(s, true, func(e engine.Envelope) error {
			if away && e.OperationID == "o-1" {
				return errDown
			}
			return nil
		})
		events := batch(of(t, 0, "t-1"), of(t, 1, "t-1"), of(t, 2, "t-2"), of(t, 3, "t-1"))
		if err := s.Relay(t.Context(), events); !errors.Is(err, errDown) {
			t.Fatalf("got %v", err)
		}
		slices.Sort(w.ran)
		if diff := cmp.Diff([]string{"o-0", "o-2"}, w.ran); diff != "" {
			t.Errorf("ran at first (-want +got):\n%s", diff)
		}
		away, w.ran = false, nil
		if err := s.Relay(t.Context(), events); err != nil || len(w.ran) != 4 {
			t.Errorf("ran %v, %v", w.ran, err)
		}
	})
}

// Ensure that what the trigger has skipped goes to the queue: nobody waits for it.
func TestASkippedEventIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q, _ := newService(t)
		w := working(s, true, nil)
		if err := s.Relay(t.Context(), batch(good(t, 1))); err != nil {
			t.Fatal(err)
		}
		s.c.Reader = &hub{events: []Event{good(t, 2)}, last: 3}
		if err := s.Relay(t.Context(), batch(good(t, 3))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"o-2"}, ids(q.taken)); diff != "" || !slices.Equal(w.ran, []string{"o-1", "o-3"}) {
			t.Errorf("ran %v, queued (-want +got):\n%s", w.ran, diff)
		}
	})
}
