package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// life is a world whose app dies at a point, and is started again.
type life struct {
	*world
	trigger *trigger
	died    bool
}

func newLife(t *testing.T, points map[string]int, changes ...string) *life {
	l := &life{world: newWorld(t, changes...)}
	l.trigger = newTrigger(points, func(string) { l.died = true })
	l.start(withCrashPoints(l.trigger, l.ports, queueRoles(l.settings)))
	return l
}

// start puts a new process in the place of the last one. Requests are made one
// after the other, so that none is under way.
func (l *life) start(p ports) {
	l.t.Helper()
	if err := l.app.Close(context.Background()); err != nil {
		l.t.Fatalf("close: %v", err)
	}
	app, err := assemble(chosen.Business(), l.settings, slog.New(slog.NewJSONHandler(l.log, nil)), p)
	if err != nil {
		l.t.Fatal(err)
	}
	l.app = app
}

// ask makes a request until it is answered with one of the statuses, as a good
// client does. What a dead process answers is not heard.
func (l *life) ask(method, path, body string, want ...int) {
	l.t.Helper()
	for range 5 {
		resp, data := l.call(method, path, body)
		if l.revive() {
			continue
		}
		if slices.Contains(want, resp.StatusCode) {
			return
		}
		l.t.Fatalf("%s %s answered %d %s", method, path, resp.StatusCode, data)
	}
	l.t.Fatalf("%s %s: no answer", method, path)
}

// revive starts the app again if it has died.
func (l *life) revive() bool {
	if !l.died {
		return false
	}
	l.died = false
	l.start(l.ports)
	return true
}

func (l *life) owner(status string) {
	l.t.Helper()
	l.ask(http.MethodPut, "/api/account/owner-1", `{"name":"Contoso","status":"`+status+`"}`, http.StatusOK, http.StatusCreated)
}

func (l *life) deliverRequest(body string) {
	l.t.Helper()
	l.ask(http.MethodPut, "/api/deliveryrequests/d-1", body, http.StatusAccepted)
}

// relayEvents hands over what is in the hub, the last first if they are to
// overtake each other, until Relay has taken it.
func (l *life) relayEvents(reversed bool) {
	l.t.Helper()
	events := l.producer.take()
	if reversed {
		slices.Reverse(events)
	}
	if len(events) == 0 {
		return
	}
	first := l.next
	l.next += len(events)
	for range 5 {
		status := l.relayFrom(first, events...)
		if !l.revive() && status == http.StatusOK {
			return
		}
	}
	l.t.Fatal("Relay does not take the events")
}

// settleAll delivers messages, lets time pass and sweeps, until every
// transaction rests and the queues are empty.
func (l *life) settleAll() {
	l.t.Helper()
	functions := map[string]string{"transactions": "Schedule", "compensations": "Supervise", "notifications": "Notify"}
	for range 100 {
		for _, m := range l.queue.Receivable() {
			m.Lock()
			status := l.deliver(functions[m.Queue], m.MessageID, m.Body, nil)
			if l.revive() || status != http.StatusOK {
				m.Abandon()
				continue
			}
			m.Complete()
		}
		next, waiting := l.queue.Next()
		switch resting := l.resting(); {
		case waiting:
			l.ahead.Add(int64(max(0, next.Sub(l.now()))))
		case resting:
			return
		default:
			l.ahead.Add(int64(time.Minute))
			l.sweepOnce()
		}
	}
	l.t.Fatalf("nothing comes to rest:\n%s", l.log)
}

func (l *life) sweepOnce() {
	l.t.Helper()
	l.sweep()
	l.revive() // the next run of the timer does what this one did not
}

func (l *life) resting() bool {
	for _, p := range l.transactions.All() {
		if !p.Rests() || len(p.Outbox.Notices) > 0 {
			return false
		}
	}
	return true
}

// story is a life of one transaction, d-1, and how it must end.
type story struct {
	name     string
	settings []string
	live     func(l *life)
	final    workflow.State
	exists   bool // its package, drone and delivery
}

const tooHeavy = 90.0

var stories = []story{
	{
		name: "delivered",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "delivered where it arrived", settings: []string{"SCHEDULER", "stream"},
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "compensated in the batch", settings: []string{"SCHEDULER", "batch"},
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(strings.Replace(deliveryBody, `"weightKg":2.5`, fmt.Sprintf(`"weightKg":%v`, tooHeavy), 1))
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Compensated,
	}, {
		name: "delivered and told", settings: told,
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
			l.wantNews("d-1", "1 Completed")
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "rejected",
		live: func(l *life) {
			l.owner("active")
			l.owner("suspended")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Rejected,
	}, {
		name: "compensated",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(strings.Replace(deliveryBody, `"weightKg":2.5`, fmt.Sprintf(`"weightKg":%v`, tooHeavy), 1))
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Compensated,
	}, {
		name: "cancelled when completed",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
			l.ask(http.MethodDelete, "/api/deliveryrequests/d-1", "", http.StatusAccepted)
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Cancelled,
	}, {
		name: "operations before the delivery",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.ask(http.MethodPatch, "/api/deliveryrequests/d-1", `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`, http.StatusAccepted)
			l.ask(http.MethodDelete, "/api/deliveryrequests/d-1", "", http.StatusAccepted)
			l.relayEvents(true)
			l.settleAll()
		},
		final: workflow.Cancelled,
	}, {
		name: "rescheduled when completed, with poison on the hub",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
			l.ask(http.MethodPatch, "/api/deliveryrequests/d-1", `{"dropOff":{"latitude":47.5,"longitude":-122.3}}`, http.StatusAccepted)
			l.producer.mu.Lock()
			l.producer.bodies = append(l.producer.bodies, []byte("poison"))
			l.producer.mu.Unlock()
			l.relayEvents(false)
			l.settleAll()
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "no room for a reschedule",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			l.relayEvents(false)
			l.settleAll()
			l.ask(http.MethodPatch, "/api/deliveryrequests/d-1", `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`, http.StatusAccepted)
			l.fill() // faster than that one
			l.relayEvents(false)
			l.settleAll()
			if len(l.outside.All()) == 0 {
				l.t.Error("the reschedule is nowhere on record")
			}
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "two reschedules before the delivery",
		live: func(l *life) {
			l.owner("active")
			l.deliverRequest(deliveryBody)
			for _, latitude := range []string{"47.4", "47.5"} {
				l.ask(http.MethodPatch, "/api/deliveryrequests/d-1", `{"dropOff":{"latitude":`+latitude+`,"longitude":-122.3}}`, http.StatusAccepted)
			}
			l.relayEvents(true)
			l.settleAll()
		},
		final: workflow.Completed, exists: true,
	}, {
		name: "stuck", settings: []string{"DEAD_LETTERS", "1"},
		live: getStuck, final: workflow.Stuck,
	}, {
		name: "retried by an operator", settings: []string{"DEAD_LETTERS", "1"},
		live: func(l *life) {
			getStuck(l)
			l.ask(http.MethodPost, "/api/operations/transactions/d-1/retry", actBody, http.StatusOK)
			l.settleAll() // its delivery never comes
		},
		final: workflow.Rejected,
	}, {
		name: "given up by an operator", settings: []string{"DEAD_LETTERS", "1"},
		live: func(l *life) {
			getStuck(l)
			l.ask(http.MethodPost, "/api/operations/transactions/d-1/giveup", noteBody, http.StatusOK)
		},
		final: workflow.GivenUp,
	}, {
		name: "redriven by an operator",
		live: func(l *life) {
			l.owner("active")
			l.keep(encode(l.t, engine.Envelope{
				TransactionID: "d-1", OperationID: "o-1", Operation: "start", AcceptedAt: l.now(), Body: json.RawMessage(deliveryBody),
			}))
			l.ask(http.MethodPost, "/api/operations/quarantine/transactions/transactions.7/redrive", actBody, http.StatusOK)
			l.settleAll()
		},
		final: workflow.Completed, exists: true,
	},
}

// fill puts as many reschedules on record as a transaction takes.
func (l *life) fill() {
	l.t.Helper()
	err := l.transactions.Change("d-1", func(p *workflow.Progress) {
		for n := range workflow.MaxOperations {
			p.Operations = append(p.Operations, workflow.OperationRecord{
				ID: fmt.Sprintf("old-%02d", n), Kind: workflow.OperationReschedule, State: workflow.OperationRefused, Reason: "no",
			})
		}
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// getStuck leaves the transaction to an operator, for its dead letters.
func getStuck(l *life) {
	l.t.Helper()
	l.owner("active")
	l.deliverRequest(deliveryBody)
	l.producer.take() // the delivery is a long time coming
	l.ask(http.MethodPatch, "/api/deliveryrequests/d-1", `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`, http.StatusAccepted)
	l.relayEvents(false)
	for _, m := range l.queue.Receivable() {
		for l.deliver("Schedule", m.MessageID, m.Body, nil) != http.StatusOK {
			l.revive()
		}
	}
	for !l.resting() {
		wake := l.transactions.Get("d-1").Wake
		l.deliver("DeadLetterTransactions", "m-1", encode(l.t, engine.Envelope{TransactionID: "d-1", Wake: wake}), nil)
		l.revive()
	}
}

// TestEveryCrashPoint lets the app die at every passing of every point in every
// story, starts it again, and holds how the story must end. Each point must be
// passed in one of them.
func TestEveryCrashPoint(t *testing.T) {
	unpassed := map[string]bool{}
	for _, effect := range crashEffects(chosen.Business()) {
		unpassed[effect+beforeEffect], unpassed[effect+afterEffect] = true, true
	}
	var group errgroup.Group
	group.SetLimit(16) // most of their time they wait: failures are held back
	for _, s := range stories {
		clean := newLife(t, nil, s.settings...)
		s.live(clean)
		clean.check(s)
		for point, passes := range clean.trigger.counts() {
			delete(unpassed, point)
			for n := 1; n <= passes; n++ {
				group.Go(func() error {
					t.Run(fmt.Sprintf("%s/%s/%d", s.name, point, n), func(t *testing.T) {
						l := newLife(t, map[string]int{point: n}, s.settings...)
						s.live(l)
						l.check(s)
					})
					return nil
				})
			}
		}
	}
	_ = group.Wait() // its functions return no error
	for point := range unpassed {
		t.Errorf("no story passes %s", point)
	}
}

// check holds the end of a story. One that is Rejected calls no undo. If its runner has
// died, all that was marked is in doubt, and it is Compensated (ADR 28).
func (l *life) check(s story) {
	l.t.Helper()
	if s.final == workflow.Rejected && strings.Contains(l.log.String(), `"lease taken over"`) {
		s.final = workflow.Compensated
	}
	p := l.transactions.Get("d-1")
	if p == nil || p.State != s.final {
		l.t.Fatalf("ended %+v, want %s\n%s", p, s.final, l.log)
	}
	for _, step := range p.Steps {
		if s.final == workflow.Rejected && step.UndoAttempts > 0 {
			l.t.Errorf("it is Rejected, and an undo of %s was called", step.Name)
		}
	}
	for _, op := range p.Operations {
		if op.State == workflow.OperationPending && s.final != workflow.Stuck {
			l.t.Errorf("operation %s is Pending in the end", op.ID)
		}
	}
	checkRecord(l, "packages", "package-1", s.exists)
	checkRecord(l, "assignments", "d-1", s.exists)
	checkRecord(l, "deliveries", "d-1", s.exists)
	if len(l.queue.TakeDeadLetters()) != 0 {
		l.t.Error("there are dead letters")
	}
}

// checkRecord holds that the effect is there or not, and came into being once.
func checkRecord(l *life, container, id string, exists bool) {
	l.t.Helper()
	r, _, err := record.Over[record.Record[json.RawMessage]](l.ports.documents(container)).Read(context.Background(), id)
	if failure.Is(err, failure.NotFound) {
		err = nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	if r.Live() != exists {
		l.t.Errorf("%s: there is %+v, want %t", container, r, exists)
	}
	created := 0
	for _, e := range r.Journal {
		if e.Change == record.Created {
			created++
		}
	}
	if created > 1 || exists && created == 0 {
		l.t.Errorf("%s: created %d times", container, created)
	}
}

// TestCrashPointsAreThoseOfThePorts fails when a port has a method with an
// effect that has no crash point.
func TestCrashPointsAreThoseOfThePorts(t *testing.T) {
	// An operator's one write of the map has nothing before it or behind it; what the
	// status is made of is told again.
	harmless := []string{"Write", "Read", "Page", "Overdue", "OverdueNotices", "Find", "Free", "Zone", "Partitions", "Between", "Hub", "Extent", "Claims", "Since",
		"Reports", "Report", "Surveyed", "InState", "Kept", "Notices", "Queues", "Lasting"}
	// An entry of the directory is replaced after half of its life, or when its request is forgotten.
	// shared/ingest tests what comes of a failure.
	const renewal = "requests.Replace"
	// Most runs have no mail. shared/notify tests what a crash makes of one.
	const letter = "mailer.Send"
	// Named after more than the method.
	by := map[string]string{"sender.Send": "sender.Send.", "transactions.Replace": "transactions.Replace.", "backends.Do": "caller."}
	listed := crashEffects(chosen.Business())
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for i := range of.NumField() {
			field := of.Field(i)
			if field.Anonymous {
				check(field.Type)
				continue
			}
			if field.Type.Kind() != reflect.Interface {
				continue
			}
			for m := range field.Type.NumMethod() {
				method := field.Type.Method(m).Name
				effect := field.Name + "." + method
				known := slices.Contains(listed, effect) || by[effect] != "" &&
					slices.ContainsFunc(listed, func(e string) bool { return strings.HasPrefix(e, by[effect]) })
				if !known && effect != renewal && effect != letter && !slices.Contains(harmless, method) {
					t.Errorf("%s has no crash point", effect)
				}
			}
		}
	}
	check(reflect.TypeFor[ports]())
}
