package operate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/operate/operatetest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/quarantine/quarantinetest"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// world is a system whose operators are at work.
type world struct {
	*enginetest.World
	t       *testing.T
	operate *operate.Service
	entries *quarantinetest.Memory
	told    *operatetest.Told
	lag     partitions
	log     bytes.Buffer
	refused bool // the hotel refuses its undo
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: enginetest.New(t, workflowtest.Trip(), 1, nil), t: t}
	w.entries = quarantinetest.NewMemory(w.Gate)
	w.told = &operatetest.Told{Store: w.Store}
	w.operate = w.instance(w)
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if w.refused && req.Undo && req.Call.Backend == "hotel" {
			return new(enginetest.Refused(405, "no way back"))
		}
		return nil
	}
	return w
}

// instance returns the operators' part of another instance, with the clock and the
// engine of of and what the instances of w have told.
func (w *world) instance(of *world) *operate.Service {
	return operate.New(operate.Config{
		Engine: of.Engine, Listing: operatetest.Listing{Store: w.Store}, Key: "city", Quarantine: w.entries,
		Hub: &w.lag, Told: w.told, Counter: w.told, Queues: w.told.Queues, ConsumerGroup: "relay", TraceURL: "https://traces.example.com/{traceId}", Logger: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Where: func(_ context.Context, id string) (shard.Number, error) {
			return 0, failure.New(failure.NotFound, "place", id, nil)
		},
	})
}

var ada = operate.Actor{By: "ada", Why: "the hotel is back"}

// stuck makes transaction t Stuck: its client cancels it, and the hotel refuses
// the undo.
func (w *world) stuck() *workflow.Progress {
	w.t.Helper()
	w.refused = true
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	w.Settle()
	w.Post(workflow.OperationCancel, "t", "op-2", nil)
	w.Settle()
	return w.want(workflow.Stuck)
}

// want returns transaction t, which must be in that state.
func (w *world) want(state workflow.State) *workflow.Progress {
	w.t.Helper()
	p := w.Store.Get("t")
	if p == nil || p.State != state {
		w.t.Fatalf("t is not %s:\n%s", state, enginetest.Describe(p))
	}
	return p
}

// keep puts a body into quarantine, as entry 1 of the deliveries' dead letters.
func (w *world) keep(body []byte) quarantine.Entry {
	w.t.Helper()
	e := quarantine.Entry{
		Source: quarantine.DeadLetterSource("transactions"), SequenceNumber: 1, Reason: "MaxDeliveryCountExceeded",
		State: quarantine.Kept, TransactionID: quarantine.TransactionOf(body), At: w.Clock.Now(), Properties: map[string]any{"k": "v"},
	}
	e.SetBody(body)
	e.ID = e.Source + ".1" // as earlier versions have kept it
	if err := w.entries.Put(context.Background(), e); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) keepMessage(e engine.Envelope) quarantine.Entry {
	w.t.Helper()
	body, err := e.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.keep(body)
}

// entry returns the entry as it is now.
func (w *world) entry() quarantine.Entry {
	w.t.Helper()
	all := w.entries.All()
	if len(all) != 1 {
		w.t.Fatalf("entries %+v", all)
	}
	return all[0]
}

// at lets the nth effect of that name have a fate, and all others pass. The
// result tells whether there was such an effect.
func (w *world) at(effect string, n int, fate workflowtest.Fate) (struck *bool) {
	seen, struck := 0, new(bool)
	w.Gate.Decide = func(name string, _ int) workflowtest.Fate {
		if name == effect {
			seen++
		}
		if name != effect || seen != n {
			return workflowtest.Pass
		}
		*struck = true
		return fate
	}
	return struck
}

// acts counts an operator's acts of that kind in the history of t.
func (w *world) acts(transition workflow.Transition) int {
	n := 0
	for _, e := range w.Store.Get("t").History {
		if e.Transition == transition && e.By != "" {
			n++
		}
	}
	return n
}

const moment = time.Second

// partitions are those of a hub.
type partitions []relay.Partition

func (p *partitions) Partitions(context.Context) ([]relay.Partition, error) { return *p, nil }

func (p *partitions) Behind(context.Context) (int64, error) { return 0, errors.New("not here") }

func (p *partitions) Replay(context.Context, relay.Again) (relay.Replayed, error) {
	return relay.Replayed{}, errors.New("not here")
}
