package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func containsText(data []byte, text string) bool { return bytes.Contains(data, []byte(text)) }

func encode(t testing.TB, e engine.Envelope) []byte {
	t.Helper()
	body, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// only returns the one entry of the quarantine.
func (w *world) only() quarantine.Entry {
	w.t.Helper()
	entries := w.quarantine.All()
	if len(entries) != 1 {
		w.t.Fatalf("%d entries in quarantine: %+v", len(entries), entries)
	}
	return entries[0]
}

func TestRelayQuarantinesWhatItCantRead(t *testing.T) {
	w := newWorld(t)
	good := encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "cancel", AcceptedAt: time.Now()})
	if status := w.relayAll([]byte("rubbish"), good); status != http.StatusOK {
		t.Fatalf("answered %d\n%s", status, w.log)
	}
	if !w.queue.Has("o-1") || w.queue.Len() != 1 {
		t.Error("the good event is not in the queue")
	}
	e := w.only()
	if e.SequenceNumber != 0 || e.Source != quarantine.EventSource("requests", "3") || e.Body != "rubbish" || e.Properties["k"] != "v" {
		t.Errorf("got %+v", e)
	}
	if w.app.report.Take().KeptAt.IsZero() {
		t.Error("the instance does not report it")
	}
}

// TestRelayFillsAGap has the trigger skip two events behind a batch.
func TestRelayFillsAGap(t *testing.T) {
	w := newWorld(t)
	event := func(operation string) []byte {
		return encode(t, engine.Envelope{TransactionID: "t-1", OperationID: operation, Operation: "cancel", AcceptedAt: time.Now()})
	}
	w.producer.skipped = []relay.Event{{SequenceNumber: 41, Body: event("o-41")}, {SequenceNumber: 42, Body: event("o-42")}}
	if status := w.relayFrom(40, event("o-40")); status != http.StatusOK || w.queue.Sent() != 1 {
		t.Fatalf("answered %d, sent %d\n%s", status, w.queue.Sent(), w.log)
	}
	if status := w.relayFrom(43, event("o-43")); status != http.StatusOK {
		t.Fatalf("answered %d\n%s", status, w.log)
	}
	for _, id := range []string{"o-40", "o-41", "o-42", "o-43"} {
		if !w.queue.Has(id) {
			t.Errorf("%s was not relayed", id)
		}
	}
}

func TestRelayFailsForRetry(t *testing.T) {
	w := newWorld(t)
	event := func(operation string) []byte {
		return encode(t, engine.Envelope{TransactionID: "t-1", OperationID: operation, Operation: "cancel", AcceptedAt: time.Now()})
	}
	if status := w.relayAll(event("o-0")); status != http.StatusOK { // from now on Relay knows where it is
		t.Errorf("answered %d", status)
	}
	good := event("o-1")
	w.down.Store(true)
	if status := w.relayAll(good); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
	if w.app.report.Take().UnsentSince.IsZero() {
		t.Error("the instance does not report it")
	}
	w.down.Store(false)
	if status := w.relayAll(good); status != http.StatusOK || !w.queue.Has("o-1") {
		t.Errorf("answered %d on the repeat", status)
	}
	if at := w.app.report.Take().UnsentSince; !at.IsZero() {
		t.Errorf("after the repeat it reports it since %v", at)
	}
}

func TestRelayRefusesAnOddBatch(t *testing.T) {
	w := newWorld(t)
	status := w.invoke("Relay", map[string]any{"events": `["e30="]`}, map[string]any{
		"PartitionContext":    map[string]any{"EventHubName": "h", "ConsumerGroup": "g", "PartitionId": "3"},
		"SequenceNumberArray": "[1,2]", "OffsetArray": `["1"]`, "EnqueuedTimeUtcArray": `["2026-05-04T09:00:00"]`, "PropertiesArray": "[{}]",
	})
	if status != http.StatusInternalServerError || !strings.Contains(w.log.String(), "batch of 1 events has 2 sequence numbers") {
		t.Errorf("answered %d\n%s", status, w.log)
	}
}

func TestPoisonIsQuarantinedAndCompleted(t *testing.T) {
	tests := []struct {
		name, function string
		body           []byte
		source, reason string
	}{
		{"unreadable", "Schedule", []byte("rubbish"), "transactions", quarantine.ReasonUnreadable},
		{"unreadable", "Supervise", []byte(`{"schema":1}`), "compensations", quarantine.ReasonUnreadable},
		{"wake of nothing", "Schedule", encode(t, engine.Envelope{TransactionID: "t-1", Wake: 3}), "transactions", quarantine.ReasonExpired},
		{"wake of nothing", "Supervise", encode(t, engine.Envelope{TransactionID: "t-1", Wake: 3}), "compensations", quarantine.ReasonExpired},
		{"too old", "Schedule", encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-1", Operation: "start",
			Body: json.RawMessage(deliveryBody), AcceptedAt: time.Now().Add(-31 * 24 * time.Hour)}), "transactions", quarantine.ReasonExpired},
	}
	for _, test := range tests {
		t.Run(test.name+" for "+test.function, func(t *testing.T) {
			w := newWorld(t)
			if status := w.deliver(test.function, "m-1", test.body, map[string]any{"k": "v"}); status != http.StatusOK {
				t.Fatalf("answered %d\n%s", status, w.log)
			}
			e := w.only()
			if e.Source != test.source || e.Reason != test.reason || e.Detail == "" || e.MessageID != "m-1" || e.SequenceNumber != 7 ||
				e.Body != string(test.body) || e.Properties["k"] != "v" {
				t.Errorf("got %+v", e)
			}
			if w.transactions.Writes() != 0 || w.queue.Sent() != 0 {
				t.Error("something else was done")
			}
		})
	}
}

func TestPoisonIsNotLostWhenTheQuarantineIsOutOfReach(t *testing.T) {
	w := newWorld(t)
	w.down.Store(true)
	if status := w.deliver("Schedule", "m-1", []byte("rubbish"), nil); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
}

func TestNewerSchemaIsRetried(t *testing.T) {
	w := newWorld(t)
	if status := w.deliver("Schedule", "m-1", []byte(`{"schema":99}`), nil); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
	if entries := w.quarantine.All(); len(entries) != 0 {
		t.Errorf("quarantined %+v", entries)
	}
}

func TestMessageWithoutItsMetadataFails(t *testing.T) {
	w := newWorld(t)
	if status := w.invoke("Schedule", map[string]any{"message": "e30="}, map[string]any{}); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
	if status := w.invoke("Schedule", map[string]any{"other": "e30="}, map[string]any{"SequenceNumber": "1"}); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
}

func TestDeadLetterIsKeptAndItsTransactionWoken(t *testing.T) {
	for function, queue := range map[string]string{"DeadLetterTransactions": "transactions", "DeadLetterCompensations": "compensations"} {
		t.Run(function, func(t *testing.T) {
			w := newWorld(t, "CALL_ATTEMPTS", "1")
			open := w.open()
			body := encode(t, engine.Envelope{TransactionID: open.ID, Wake: open.Wake})
			sent := w.queue.Sent()
			status := w.deliver(function, "m-1", body, map[string]any{
				"DeadLetterReason": "MaxDeliveryCountExceeded", "DeadLetterErrorDescription": "10 deliveries"})
			if status != http.StatusOK {
				t.Fatalf("answered %d\n%s", status, w.log)
			}
			e := w.only()
			if e.Source != quarantine.DeadLetterSource(queue) || e.Reason != "MaxDeliveryCountExceeded" || e.Detail != "10 deliveries" || e.TransactionID != open.ID {
				t.Errorf("got %+v", e)
			}
			if after := w.transactions.Get(open.ID); after.DeadLetters != 1 || after.Wake <= open.Wake || w.queue.Sent() <= sent {
				t.Errorf("not woken: %+v", after)
			}
		})
	}
}

// open makes a transaction that waits, since the backends are out of order.
func (w *world) open() *workflow.Progress {
	w.t.Helper()
	w.backendsDown.Store(true)
	r := w.post(deliveryBody)
	p := w.transactions.Get(r.TransactionID)
	if p == nil || p.State != workflow.Running || p.WakeAt.IsZero() {
		w.t.Fatalf("got %+v\n%s", p, w.log)
	}
	return p
}

func TestSweepWakesWhatNobodyWorksOn(t *testing.T) {
	w := newWorld(t, "CALL_ATTEMPTS", "1")
	open := w.open()
	sent := w.queue.Sent()
	if status := w.sweep(); status != http.StatusOK || w.queue.Sent() != sent {
		t.Fatalf("answered %d, and woke what is not overdue", status)
	}
	w.overdue(open.ID)
	if status := w.sweep(); status != http.StatusOK || w.queue.Sent() != sent+1 {
		t.Errorf("answered %d, sent %d messages, want one", status, w.queue.Sent()-sent)
	}
	w.overdue(open.ID)
	w.down.Store(true)
	if status := w.sweep(); status != http.StatusInternalServerError {
		t.Errorf("answered %d without a database", status)
	}
}

func (w *world) overdue(id string) {
	w.t.Helper()
	err := w.transactions.Change(id, func(p *workflow.Progress) { p.WakeAt = workflow.At(time.Now().Add(-time.Hour)) })
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweep() int {
	w.t.Helper()
	return w.invoke("Sweep", map[string]any{"timer": map[string]any{"IsPastDue": false}}, map[string]any{"sys": map[string]any{}})
}

// TestSweepDrainsWhatNoFunctionGets has a dead letter in each queue whose body the
// host can't convert.
func TestSweepDrainsWhatNoFunctionGets(t *testing.T) {
	w := newWorld(t)
	w.undeliverable = map[string][]quarantine.Received{}
	for i, queue := range []string{"transactions", "compensations", "notifications"} {
		w.undeliverable[queue] = []quarantine.Received{{Queue: queue, SequenceNumber: int64(i + 1), Reason: "MaxDeliveryCountExceeded", Body: []byte("[1 2]")}}
	}
	if status := w.sweep(); status != http.StatusOK {
		t.Fatalf("answered %d\n%s", status, w.log)
	}
	for i, queue := range []string{"transactions", "compensations", "notifications"} {
		want := quarantine.Entry{Source: quarantine.DeadLetterSource(queue), SequenceNumber: int64(i + 1), Body: "[1 2]"}
		e, _, err := w.quarantine.Read(t.Context(), want.Source, quarantine.EntryID(want))
		if err != nil || e.Reason != "MaxDeliveryCountExceeded" || len(w.undeliverable[queue]) > 0 {
			t.Errorf("%s: entry %+v, %v; %d are left", queue, e, err, len(w.undeliverable[queue]))
		}
	}
}
