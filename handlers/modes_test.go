package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// moment calls do once, in the middle of a batch, and counts the calls to backends.
type moment struct {
	do    func()
	done  atomic.Bool
	mu    sync.Mutex
	calls map[string]int
}

// arrive does it, if nobody has; the calls of the other instance go on meanwhile.
func (m *moment) arrive() {
	if m.do != nil && m.done.CompareAndSwap(false, true) {
		m.do()
	}
}

// momentOfSend is the first hand-over to the queue.
type momentOfSend struct {
	engine.Sender
	m *moment
}

func (s momentOfSend) Send(ctx context.Context, messages ...engine.Queued) error {
	s.m.arrive()
	return s.Sender.Send(ctx, messages...)
}

// momentOfCall is the first call of the last step.
type momentOfCall struct {
	engine.Backends
	m *moment
}

func (b momentOfCall) Do(ctx context.Context, a engine.Attempt) workflow.Outcome {
	b.m.mu.Lock()
	b.m.calls[a.TransactionID+" "+a.Step]++
	b.m.mu.Unlock()
	if a.Step == "delivery" {
		b.m.arrive()
	}
	return b.Backends.Do(ctx, a)
}

// TestAPartitionMovesInTheMiddleOfABatch has a batch behind a gap, with poison in it,
// and another instance that gets the same batch, and the next, while the first is at
// work on it: everything is done once, and the position does not go back.
func TestAPartitionMovesInTheMiddleOfABatch(t *testing.T) {
	for _, mode := range []string{"queue", "stream", "batch"} {
		t.Run(mode, func(t *testing.T) {
			l := newLife(t, nil, "SCHEDULER", mode, "FLEET_DRONES", "10")
			l.owner("active")
			var events [][]byte
			for n := range 5 {
				body := strings.Replace(deliveryBody, `"package-1"`, fmt.Sprintf(`"package-%d"`, n), 1)
				l.ask(http.MethodPut, fmt.Sprintf("/api/deliveryrequests/d-%d", n), body, http.StatusAccepted)
				events = append(events, l.producer.take()...)
			}
			m := &moment{calls: map[string]int{}}
			p := l.ports
			p.backends = momentOfCall{l.ports.backends, m}
			other := l.another(p)
			if status := l.relayFrom(0, events[0]); status != http.StatusOK {
				t.Fatalf("answered %d", status)
			}
			batch := [][]byte{events[2], []byte("poison"), events[3]}
			l.producer.skipped = []relay.Event{{SequenceNumber: 1, Body: events[1]}}
			m.do = func() {
				if again, next := other.relayFrom(2, batch...), other.relayFrom(5, events[4]); again != http.StatusOK || next != http.StatusOK {
					t.Errorf("the other instance answered %d and %d", again, next)
				}
			}
			if mode == "queue" {
				p.backends, p.sender = momentOfCall{l.ports.backends, &moment{calls: m.calls}}, momentOfSend{l.ports.sender, m}
			}
			l.start(p)
			if status := l.relayFrom(2, batch...); status != http.StatusOK {
				t.Errorf("answered %d\n%s", status, l.log)
			}
			if at := l.checkpoints.kept["requests.relay.3"]; at.SequenceNumber != 5 {
				t.Errorf("the position is %d, want 5", at.SequenceNumber)
			}
			l.settleAll()
			l.only()
			for n := range 5 {
				id := fmt.Sprintf("d-%d", n)
				if view := l.transaction(id); view.State != workflow.Completed {
					t.Errorf("%s is %s", id, view.State)
				}
				if n > 0 && (m.calls[id+" drone"] != 1 || m.calls[id+" delivery"] != 1) {
					t.Errorf("%s was called for: %v", id, m.calls)
				}
			}
		})
	}
}

// another is an instance beside the world's own.
func (l *life) another(p ports) *world {
	l.t.Helper()
	app, err := assemble(chosen.Business(), l.settings, slog.New(slog.NewJSONHandler(l.log, nil)), p)
	if err != nil {
		l.t.Fatal(err)
	}
	other := &world{t: l.t, app: app, client: l.client, server: httptest.NewServer(app)}
	l.t.Cleanup(func() {
		other.server.Close()
		if err := app.Close(context.Background()); err != nil {
			l.t.Errorf("close: %v", err)
		}
	})
	return other
}
