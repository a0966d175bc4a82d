package engine_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// told returns a world with a trip posted, of whose end somebody wants to hear.
func told(t *testing.T, log *strings.Builder) *enginetest.World {
	w := enginetest.New(t, workflowtest.Trip(), 1, func(c *engine.Config) {
		c.Budgets.Notify = true
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	return w
}

// Ensure the save that ends a transaction is followed by one message that asks
// for its notice, and costs no write more.
func TestEndIsAnnounced(t *testing.T) {
	w := told(t, &strings.Builder{})
	w.Step()
	p := wantState(t, w, workflow.Completed)
	if len(p.Outbox.Notices) != 1 || w.Store.Writes() != 2 {
		t.Errorf("%d writes, outbox %+v", w.Store.Writes(), p.Outbox)
	}
	ready := w.Queue.Receivable()
	if len(ready) != 1 {
		t.Fatalf("%d messages, want one", len(ready))
	}
	m := ready[0].Queued
	e, err := engine.Decode(m.Body)
	if err != nil || m.Queue != "notifications-q" || m.MessageID != "t/notifications/1" || e.TransactionID != "t" || e.Wake != p.Outbox.Wake || e.Operation != "" {
		t.Errorf("message %+v %+v: %v", m, e, err)
	}
}

// Ensure a message that can't be sent is none of the transaction's business.
func TestAnnouncementFails(t *testing.T) {
	var log strings.Builder
	w := told(t, &log)
	w.Gate.Decide = func(effect string, _ int) workflowtest.Fate {
		if strings.HasPrefix(effect, "send t/notifications") {
			return workflowtest.Refuse
		}
		return workflowtest.Pass
	}
	d := w.Queue.Receivable()[0]
	e, err := engine.Decode(d.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.Schedule(t.Context(), e); err != nil {
		t.Errorf("the message of the transaction fails: %v", err)
	}
	wantState(t, w, workflow.Completed)
	if !strings.Contains(log.String(), "left to Sweep") {
		t.Errorf("log:\n%s", &log)
	}
}

// Ensure the message is not sent again for a transaction whose notices were put
// off, and is for one that went on before it was told of.
func TestAnnouncedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*workflow.Progress)
		want   []string
	}{
		"nothing waits": {func(p *workflow.Progress) { p.Notified(1) }, nil},
		"put off":       {func(p *workflow.Progress) { p.Outbox.Laters = 1 }, nil},
		"waits":         {func(p *workflow.Progress) { p.Outbox.Wake = 7 }, []string{"t/notifications/7"}},
		"nobody cares":  {nil, nil},
		"goes on": {func(p *workflow.Progress) {
			p.State, p.WakeQueue = workflow.Running, workflow.QueueTransactions
		}, []string{"t/transactions/1", "t/notifications/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := told(t, &strings.Builder{})
			w.Step()
			if test.change == nil {
				w.Engine.Budgets.Notify = false
			} else if err := w.Store.Change("t", test.change); err != nil {
				t.Fatal(err)
			}
			before := len(w.Gate.Effects())
			if err := w.Engine.Successor(t.Context(), w.Store.Get("t")); err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, effect := range w.Gate.Effects()[before:] {
				id, _, _ := strings.Cut(strings.TrimPrefix(effect, "send "), " ")
				sent = append(sent, id)
			}
			if !slices.Equal(sent, test.want) {
				t.Errorf("sent %v, want %v", sent, test.want)
			}
		})
	}
}

func TestNotificationsNeedAQueue(t *testing.T) {
	w := world(t)
	c := w.Engine.Config
	c.Queues = map[workflow.Queue]string{workflow.QueueTransactions: "d", workflow.QueueCompensations: "c"}
	if _, err := engine.New(c); err != nil {
		t.Errorf("without notices: %v", err)
	}
	c.Budgets.Notify = true
	if _, err := engine.New(c); err == nil || !strings.Contains(err.Error(), "queue notifications has no name") {
		t.Errorf("with notices: %v", err)
	}
}
