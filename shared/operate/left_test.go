package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/operate/operatetest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// hubBehind is a hub with that many events to be handed over.
type hubBehind struct {
	operate.Hub
	events int64
	err    error
}

func (h *hubBehind) Behind(context.Context) (int64, error) { return h.events, h.err }

// Ensure that what is left in a shard is told, each thing by itself, and that nothing is said of
// what has ended.
func TestLeft(t *testing.T) {
	errAway := errors.New("connection refused")
	for name, c := range map[string]struct {
		put  func(w *world, h *hubBehind, q *operate.QueueCount)
		says string // the beginnings of the sentences
		err  bool
	}{
		"nothing": {put: func(w *world, _ *hubBehind, _ *operate.QueueCount) {
			for _, state := range workflow.States {
				if state.Final() {
					w.document(string(state), state, nil)
				}
			}
			w.keep([]byte("x"))
			e := w.entry()
			_, etag, err := w.entries.Read(w.t.Context(), e.Source, e.ID)
			e.State = quarantine.Dropped
			if err = errors.Join(err, w.entries.Replace(w.t.Context(), e, etag)); err != nil {
				w.t.Fatal(err)
			}
		}},
		"open": {put: func(w *world, _ *hubBehind, _ *operate.QueueCount) {
			for _, state := range workflow.States {
				if !state.Final() && state != workflow.Stuck {
					w.document(string(state), state, nil)
				}
			}
		}, says: "3 transactions are open"},
		"stuck": {put: func(w *world, _ *hubBehind, _ *operate.QueueCount) { w.document("t", workflow.Stuck, nil) }, says: "1 transactions are Stuck"},
		"untold": {put: func(w *world, _ *hubBehind, _ *operate.QueueCount) {
			w.document("t", workflow.Completed, []workflow.Notice{{Number: 1}})
		}, says: "1 transactions have notices"},
		"quarantine": {put: func(w *world, _ *hubBehind, _ *operate.QueueCount) { w.keep([]byte("x")) }, says: "1 entries of the quarantine"},
		"hub":        {put: func(_ *world, h *hubBehind, _ *operate.QueueCount) { h.events = 7 }, says: "7 events of the hub"},
		"queue": {put: func(_ *world, _ *hubBehind, q *operate.QueueCount) { q.Active, q.Scheduled, q.Dead = 1, 2, 3 },
			says: "1 messages are in queue q, 2 messages of queue q come later, 3 dead letters are in queue q"},
		"hub away": {put: func(_ *world, h *hubBehind, _ *operate.QueueCount) { h.err = errAway }, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, q := newWorld(t), &hubBehind{}, &operate.QueueCount{Queue: "q"}
			c.put(w, h, q)
			s := operate.New(operate.Config{
				Engine: w.Engine, Listing: operatetest.Listing{Store: w.Store}, Quarantine: w.entries, Hub: h, Logger: slog.New(slog.DiscardHandler),
				Queues: func(context.Context) ([]operate.QueueCount, error) { return []operate.QueueCount{*q}, nil },
			})
			l, err := s.Left(t.Context())
			if (err != nil) != c.err {
				t.Fatal(err)
			}
			if c.err {
				return
			}
			want := strings.Split(c.says, ", ")
			if c.says == "" {
				want = nil
			}
			if !slices.EqualFunc(l.Says, want, strings.HasPrefix) || l.Says == nil || l.Shard != 1 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// document stores a transaction.
func (w *world) document(id string, state workflow.State, notices []workflow.Notice) {
	w.t.Helper()
	p := &workflow.Progress{ID: id, State: state, Outbox: workflow.Outbox{Notices: notices}}
	if notices != nil {
		p.Outbox.At = workflow.At(w.Clock.Now().Add(time.Hour))
	}
	if _, err := w.Store.Create(context.Background(), p); err != nil {
		w.t.Fatal(err)
	}
}

// endless has ever more transactions.
type endless struct{ operate.Listing }

func (endless) Find(context.Context, operate.Where, string) ([]operate.Listed, string, error) {
	return make([]operate.Listed, 300), "more", nil
}

// Ensure that nobody counts a million to say that something is left.
func TestLeftIsCountedUpToABound(t *testing.T) {
	w := newWorld(t)
	l, err := operate.New(operate.Config{
		Engine: w.Engine, Listing: endless{}, Quarantine: w.entries, Hub: &hubBehind{},
		Queues: func(context.Context) ([]operate.QueueCount, error) { return nil, nil },
	}).Left(t.Context())
	if err != nil || l.Open != operate.MostCounted || !strings.HasPrefix(l.Says[0], "at least 1000 transactions are open") {
		t.Errorf("%+v, %v", l, err)
	}
}
