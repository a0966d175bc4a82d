package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// receiver is told. Its effects are "post <event id>".
type receiver struct {
	gate *workflowtest.Gate
	// OnPost, when set, is asked before each post, without a lock held. An error
	// is the answer.
	OnPost func(e notify.CloudEvent) error

	mu    sync.Mutex
	heard []heard
}

// heard is an event as the receiver reads it.
type heard struct {
	ID      string
	Type    string
	Subject string
	Data    struct {
		TransactionID, State string
		Revision             int
	}
}

func (r *receiver) Post(_ context.Context, e notify.CloudEvent) error {
	if r.OnPost != nil {
		if err := r.OnPost(e); err != nil {
			return err
		}
	}
	fate, lost := r.gate.Ask("post " + e.ID)
	if fate == workflowtest.Refuse {
		return lost
	}
	var h heard
	if err := json.Unmarshal(e.Body, &h); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, h)
	return lost
}

// all returns what was heard, repeats included.
func (r *receiver) all() []heard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

// news returns the states that a transaction's events have told, repeats left
// out, as "<number> <state>".
func (r *receiver) news(id string) []string {
	var news, seen []string
	for _, h := range r.all() {
		number, ok := strings.CutPrefix(h.ID, id+"/")
		if !ok || slices.Contains(seen, h.ID) {
			continue
		}
		seen = append(seen, h.ID)
		news = append(news, number+" "+h.Data.State)
	}
	return news
}

// world is a whole system of which somebody wants to be told.
type world struct {
	*enginetest.World
	receiver *receiver
	service  *notify.Service
	log      *strings.Builder
}

const giveUpAfter = 72 * time.Hour

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{log: &strings.Builder{}}
	w.World = enginetest.New(t, workflowtest.Trip(), seed, func(c *engine.Config) { c.Budgets.Notify = true })
	w.receiver = &receiver{gate: w.Gate}
	w.service = notify.New(notify.Config{
		Receiver: w.receiver, Engine: w.Engine, Source: "/test", Types: "com.fabrikam.orders", GiveUpAfter: giveUpAfter,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	w.Notify = w.service.Handle
	return w
}

// deliver completes the transaction t, as far as the receiver allows.
func (w *world) deliver() {
	w.T.Helper()
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	for range 20 {
		if p := w.Store.Get("t"); p != nil && p.Rests() {
			return
		}
		w.Step()
	}
	w.T.Fatalf("the transaction does not come to rest")
}

// wake returns the message that asks for t's notices now.
func (w *world) wake() engine.Envelope {
	p := w.Store.Get("t")
	return engine.Envelope{Schema: engine.EnvelopeSchema, TransactionID: "t", Wake: p.Outbox.Wake}
}

// noticeID is the MessageID of t's message with that number.
func noticeID(wake int) string { return engine.WakeID("t", "notifications", wake) }

// check holds that everybody's rests were told, each in its order, and that
// nothing is left. It is for a world that has settled.
func (w *world) check() {
	w.T.Helper()
	for _, p := range w.Store.All() {
		var want []string
		for _, e := range p.History {
			if e.State.Final() || e.State == workflow.Stuck {
				want = append(want, fmt.Sprintf("%d %s", len(want)+1, e.State))
			}
		}
		if !p.Rests() || len(want) == 0 {
			w.T.Errorf("%s does not rest:\n%s", p.ID, enginetest.Describe(p))
		}
		if diff := cmp.Diff(want, w.receiver.news(p.ID)); diff != "" {
			w.T.Errorf("news of %s (-want +got):\n%s\n%s", p.ID, diff, enginetest.Describe(p))
		}
		if len(p.Outbox.Notices) != 0 || !p.Outbox.At.IsZero() || p.Outbox.Laters != 0 || p.Outbox.Count != len(want) {
			w.T.Errorf("%s has an outbox %+v, want none and %d counted", p.ID, p.Outbox, len(want))
		}
	}
	if n := w.Queue.Len(); n != 0 {
		w.T.Errorf("%d messages are left", n)
	}
}
