package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/notify/mailtest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// told are settings with which somebody is told: the receiver of the test's
// world, whatever the URL is.
var told = []string{"NOTIFY_URL", "http://127.0.0.1:1/hook", "NOTIFY_SIGNING_KEY", "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}

// receiver is told.
type receiver struct {
	down *atomic.Bool

	mu    sync.Mutex
	heard map[string]string // states by the id of the event
	order []string          // ids, as they were first heard
	trace string            // traceparent of the latest
	posts int
}

func (r *receiver) Post(_ context.Context, e notify.CloudEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	r.trace = e.TraceParent
	if r.down.Load() {
		return failure.New(failure.Transient, "post", e.ID, errors.New("connection refused"))
	}
	var event struct{ Data struct{ State string } }
	if err := json.Unmarshal(e.Body, &event); err != nil {
		return err
	}
	if _, repeated := r.heard[e.ID]; !repeated {
		r.order = append(r.order, e.ID)
	}
	r.heard[e.ID] = event.Data.State
	return nil
}

// wantNews wants these events of a transaction to have been told, each as
// "<number> <state>", in this order.
func (w *world) wantNews(id string, want ...string) {
	w.t.Helper()
	w.receiver.mu.Lock()
	defer w.receiver.mu.Unlock()
	var got []string
	for _, event := range w.receiver.order {
		if number, ok := strings.CutPrefix(event, id+"/"); ok {
			got = append(got, number+" "+w.receiver.heard[event])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("news of %s (-want +got):\n%s\n%s", id, diff, w.log)
	}
}

// TestEachRestIsTold takes a transaction through two rests, each told once.
func TestEachRestIsTold(t *testing.T) {
	w := newWorld(t, told...)
	w.account("owner-1", "active")
	id := w.post(deliveryBody).TransactionID
	w.wantNews(id, "1 Completed")
	w.settle(w.call(http.MethodDelete, "/api/deliveryrequests/"+id, ""))
	w.wantNews(id, "1 Completed", "2 Cancelled")
	if p := w.transactions.Get(id); len(p.Outbox.Notices) != 0 || w.receiver.posts != 2 {
		t.Errorf("%d posts, outbox %+v", w.receiver.posts, p.Outbox)
	}
}

// TestNobodyIsTold holds that without a URL nothing of it is there, and that the
// functions do nothing.
func TestNobodyIsTold(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	p := w.transactions.Get(w.post(deliveryBody).TransactionID)
	if p.State != workflow.Completed || p.Outbox.Count != 0 || p.Outbox.Wake != 0 {
		t.Errorf("%s with outbox %+v", p.State, p.Outbox)
	}
	writes := w.transactions.Writes()
	body := encode(t, engine.Envelope{TransactionID: p.ID, Wake: 1})
	for _, function := range []string{"Notify", "DeadLetterNotifications"} {
		if status := w.deliver(function, "m-1", body, nil); status != http.StatusOK {
			t.Errorf("%s answered %d", function, status)
		}
	}
	if w.receiver.posts != 0 || w.transactions.Writes() != writes || w.queue.Len() != 0 {
		t.Errorf("%d posts, %d writes, %d messages", w.receiver.posts, w.transactions.Writes()-writes, w.queue.Len())
	}
}

// TestSweepAsksForNotices has the message that asks for them be lost.
func TestSweepAsksForNotices(t *testing.T) {
	w := newWorld(t, told...)
	w.account("owner-1", "active")
	resp, data := w.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	var r receipt
	decode(t, data, &r)
	if resp.StatusCode != http.StatusAccepted || w.relayAll(w.producer.take()...) != http.StatusOK {
		t.Fatalf("answered %d %s", resp.StatusCode, data)
	}
	for _, m := range w.queue.Receivable() {
		if status := w.deliver("Schedule", m.MessageID, m.Body, nil); status != http.StatusOK {
			t.Fatalf("answered %d\n%s", status, w.log)
		}
		m.Complete()
	}
	for _, m := range w.queue.Receivable() {
		m.Complete() // and nothing was done
	}
	w.wantNews(r.TransactionID)
	w.ahead.Add(int64(2 * time.Minute))
	if status := w.sweep(); status != http.StatusOK {
		t.Fatalf("answered %d\n%s", status, w.log)
	}
	w.work()
	w.wantNews(r.TransactionID, "1 Completed")
}

func TestPoisonOfTheNotificationsQueue(t *testing.T) {
	operation := engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "cancel", AcceptedAt: time.Now()}
	for name, body := range map[string][]byte{"unreadable": []byte("rubbish"), "an operation": encode(t, operation)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, told...)
			if status := w.deliver("Notify", "m-1", body, nil); status != http.StatusOK {
				t.Fatalf("answered %d\n%s", status, w.log)
			}
			if e := w.only(); e.Source != "notifications" || e.Reason != quarantine.ReasonUnreadable || e.Body != string(body) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestDeadLettersOfTheNotificationsQueue holds that those which need nobody are
// not shown to anybody, and that no transaction gets Stuck for any.
func TestDeadLettersOfTheNotificationsQueue(t *testing.T) {
	operation := engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "cancel", AcceptedAt: time.Now()}
	wake := encode(t, engine.Envelope{TransactionID: "t-1", Wake: 3})
	for name, test := range map[string]struct {
		body []byte
		kept bool
	}{
		"asks for notices": {wake, false},
		"unreadable":       {[]byte("rubbish"), true},
		"an operation":     {encode(t, operation), true},
		"of a newer code":  {[]byte(strings.Replace(string(wake), `"schema":2`, `"schema":9`, 1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, told...)
			properties := map[string]any{"DeadLetterReason": "MaxDeliveryCountExceeded", "DeadLetterErrorDescription": "10 times"}
			for range 2 {
				if status := w.deliver("DeadLetterNotifications", "t-1/notifications/3", test.body, properties); status != http.StatusOK {
					t.Fatalf("answered %d\n%s", status, w.log)
				}
			}
			if w.transactions.Writes() != 0 || w.queue.Len() != 0 {
				t.Error("something else was done")
			}
			if !test.kept {
				if entries := w.quarantine.All(); len(entries) != 0 {
					t.Errorf("quarantined %+v", entries)
				}
				return
			}
			if e := w.only(); e.Source != "notifications.deadletter" || e.Reason != "MaxDeliveryCountExceeded" || e.Detail != "10 times" || e.Body != string(test.body) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestReceiverOfTheSettings holds what becomes of the settings: whom the app
// calls, and with which keys.
func TestReceiverOfTheSettings(t *testing.T) {
	signatures := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { signatures <- r.Header.Get("Webhook-Signature") }))
	t.Cleanup(server.Close)
	for keys, changes := range map[int][]string{
		1: told[2:],
		2: slices.Concat(told[2:], []string{"NOTIFY_SIGNING_KEY_PREVIOUS", "whsk_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="}),
	} {
		log := &syncBuffer{}
		s, err := settings.Load(chosen.Business(), environment("http://localhost", append(changes, "NOTIFY_URL", server.URL+"/hook")...))
		if err != nil {
			t.Fatal(err)
		}
		a := &adapters{}
		if err := a.openTold(chosen.Business(), s, slog.New(slog.NewTextHandler(log, nil))); err != nil {
			t.Fatal(err)
		}
		if err := a.receiver.Post(t.Context(), notify.CloudEvent{ID: "t-1/1", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if err := a.close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(strings.Fields(<-signatures)); n != keys {
			t.Errorf("%d signatures, want %d", n, keys)
		}
		if text := log.String(); !strings.Contains(text, "whpk_") || strings.Contains(text, "whsk_") {
			t.Errorf("log:\n%s", text)
		}
	}
}

// TestPortOfTheReceiver holds that there is one exactly when somebody is to be
// told: a port that holds a nil pointer would be one, too.
func TestPortOfTheReceiver(t *testing.T) {
	for wanted, changes := range map[bool][]string{false: nil, true: told} {
		s, err := settings.Load(chosen.Business(), environment("http://localhost", changes...))
		if err != nil {
			t.Fatal(err)
		}
		a, err := openAdapters(chosen.Business(), s, slog.New(slog.DiscardHandler), completed(t, observe.Signals{}))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.receiver != nil; got != wanted || a.mailer != nil {
			t.Errorf("a receiver: %t, want %t; a mailer: %t, want none", got, wanted, a.mailer != nil)
		}
		if err := a.close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// TestMailToWhoAsked holds the way of a letter: a client's wish, the arrival, a mail by SMTP.
func TestMailToWhoAsked(t *testing.T) {
	server := mailtest.Start(t, &mailtest.Server{})
	changes := []string{"SMTP_URL", "smtp://" + server.Addr, "MAIL_FROM", "Fabrikam <noreply@fabrikam.example>"}
	s, err := settings.Load(chosen.Business(), environment("http://localhost", append(changes, "SMTP_USER", "postmaster", "SMTP_PASSWORD", "verysecret")...))
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	a := &adapters{}
	if err := a.openTold(chosen.Business(), s, slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "verysecret") {
		t.Errorf("log:\n%s", log.String())
	}
	other := chosen.Business()
	other.Letters = nil
	if err := new(adapters).openTold(other, s, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "writes no letters") {
		t.Errorf("a business without letters: %v", err)
	}

	w := newWorld(t, changes...)
	w.account("owner-1", "active")
	const own = requestPath + "/mine-1"
	if resp, data := w.call(http.MethodPut, routePrefix+own, deliveryBody); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", resp.StatusCode, data)
	}
	w.settleAll()
	if resp, data := w.call(http.MethodPost, routePrefix+own+"/notifymerequests", noticeBody); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", resp.StatusCode, data)
	}
	if n := len(server.Taken()); n != 0 {
		t.Errorf("%d mails before the arrival", n)
	}
	w.ahead.Store(int64(1000 * time.Hour))
	w.settleAll()
	mail := server.Taken()
	if len(mail) != 1 || !slices.Equal(mail[0].To, []string{"someone@example.com"}) || !strings.Contains(mail[0].Raw, "has arrived") ||
		!strings.Contains(mail[0].Raw, "Message-ID: <mine-1/arrived/1@fabrikam.example>") {
		t.Errorf("mail %+v\n%+v\n%s", mail, w.transactions.Get("mine-1").Outbox, w.log)
	}
}
