package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// accepted asks for something that must be answered 202, and returns where its
// operation is.
func (w *world) accepted(method, path, body string) string {
	w.t.Helper()
	resp, data := w.call(method, path, body)
	if resp.StatusCode != http.StatusAccepted {
		w.t.Fatalf("%s %s answered %d %s", method, path, resp.StatusCode, data)
	}
	return resp.Header.Get("Location")
}

// ended returns what has become of an operation, which must be final.
func (w *world) ended(location string) ingest.OperationView {
	w.t.Helper()
	resp, data := w.call(http.MethodGet, location, "")
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("GET %s answered %d %s", location, resp.StatusCode, data)
	}
	var o ingest.OperationView
	decode(w.t, data, &o)
	if o.State == workflow.OperationPending || !o.Observed || o.EndedAt.IsZero() || o.AcceptedAt.IsZero() ||
		!strings.HasSuffix(location, o.TransactionID+"/operations/"+o.ID) {
		w.t.Errorf("%s is %+v", location, o)
	}
	return o
}

// drain relays what is in the hub and works until the queues are empty.
func (w *world) drain() {
	w.t.Helper()
	if events := w.producer.take(); len(events) > 0 {
		if status := w.relayAll(events...); status != http.StatusOK {
			w.t.Fatalf("Relay answered %d:\n%s", status, w.log)
		}
	}
	w.work()
}

// Ensure that each of a burst of changes to one transaction, all accepted before
// the first is on record, can be found at its Location and ends.
func TestBurstOfOperations(t *testing.T) {
	w := newWorld(t)
	w.call(http.MethodPut, "/api/account/owner-1", `{"name":"Contoso","status":"active"}`)
	const path, burst = "/api/deliveryrequests/d-1", 400
	locations := []string{w.accepted(http.MethodPut, path, deliveryBody)}
	w.drain()
	for n := range burst {
		locations = append(locations, w.accepted(http.MethodPatch, path, fmt.Sprintf(`{"dropOff":{"latitude":47.4,"longitude":-122.%03d}}`, n)))
	}
	w.drain()
	states := map[workflow.OperationState]int{}
	for _, location := range locations {
		o := w.ended(location)
		states[o.State]++
		if (o.Reason == "") != (o.State == workflow.OperationApplied) {
			t.Errorf("%s is %s for %q", o.ID, o.State, o.Reason)
		}
	}
	p := w.transactions.Get("d-1")
	if p.State != workflow.Completed || len(p.Operations) != 1+workflow.MaxOperations || len(w.outside.All()) != burst-workflow.MaxOperations ||
		states[workflow.OperationApplied] == 0 {
		t.Errorf("%s with %d operations, %d outside; they ended %v", p.State, len(p.Operations), len(w.outside.All()), states)
	}
	for _, o := range w.outside.All() {
		doc, err := json.Marshal(o)
		if err != nil || len(doc) > 1000 || o.TTL != 30*24*60*60 {
			t.Errorf("it has %d bytes, and lives for %d s: %s, %v", len(doc), o.TTL, doc, err)
		}
	}
	// What is on record says so beforehand from now on.
	resp, data := w.call(http.MethodPatch, path, `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`)
	if resp.StatusCode != http.StatusConflict || !strings.Contains(string(data), "a transaction takes at most 50 operations of the kind reschedule") {
		t.Errorf("one more: %d %s", resp.StatusCode, data)
	}
	w.accepted(http.MethodDelete, path, "")
}

// Ensure that a stranger's operation, which came into the hub though Ingest refuses
// it, has an end that the stranger finds, before and after the delivery comes, and
// that tells nothing; and that nobody else finds it.
func TestStrangersOperationEnds(t *testing.T) {
	for name, overtakes := range map[string]bool{"before the delivery": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			e := newEntraWorld(t)
			e.as("the-workflow", "Scheduler")
			e.account("owner-1", "active")
			e.as("ada", "Client")
			delivery := e.accepted(http.MethodPost, "/api/deliveryrequests", deliveryBody)
			path, _, _ := strings.Cut(delivery, "/operations/")
			events := e.producer.take()
			e.as("bob", "Client")
			e.refused(http.StatusNotFound, http.MethodDelete, path, "")
			event, cancel := strangersCancel(t, strings.TrimPrefix(path, "/api/deliveryrequests/"))
			if overtakes {
				events = append([][]byte{event}, events...)
			} else {
				events = append(events, event)
			}
			if status := e.relayAll(events...); status != http.StatusOK {
				t.Fatalf("Relay answered %d", status)
			}
			e.work()
			if o := e.ended(cancel); o.State != workflow.OperationRefused || o.Reason != "you have no such transaction" {
				t.Errorf("the stranger gets %+v", o)
			}
			e.refused(http.StatusNotFound, http.MethodGet, path, "")
			e.refused(http.StatusNotFound, http.MethodGet, delivery, "")
			e.as("eve", "Client")
			e.refused(http.StatusNotFound, http.MethodGet, cancel, "")
			e.as("ada", "Client")
			if o := e.ended(delivery); o.State != workflow.OperationApplied {
				t.Errorf("the owner gets %+v", o)
			}
		})
	}
}

// Ensure that a client that repeats a POST as PUT, under the id that it was given
// with a 503, is answered 202, and gets one delivery, though something else was
// asked in between.
func TestPutAfterAPostThatWasNotAcknowledged(t *testing.T) {
	for name, c := range map[string]struct {
		taken  bool // the hub took the event of the POST, and its answer was lost
		method string
		body   string
		final  workflow.State
	}{
		"lost, then a reschedule":  {false, http.MethodPatch, `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`, workflow.Completed},
		"taken, then a reschedule": {true, http.MethodPatch, `{"dropOff":{"latitude":47.4,"longitude":-122.3}}`, workflow.Completed},
		"lost, then a cancel":      {false, http.MethodDelete, "", workflow.Cancelled},
		"taken, then a cancel":     {true, http.MethodDelete, "", workflow.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.call(http.MethodPut, "/api/account/owner-1", `{"name":"Contoso","status":"active"}`)
			w.producer.loses.Store(true)
			resp, data := w.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
			var given struct{ TransactionID string }
			decode(t, data, &given)
			if resp.StatusCode != http.StatusServiceUnavailable || given.TransactionID == "" {
				t.Fatalf("POST answered %d %s", resp.StatusCode, data)
			}
			w.producer.loses.Store(false)
			if !c.taken {
				w.producer.take()
			}
			path := "/api/deliveryrequests/" + given.TransactionID
			w.accepted(c.method, path, c.body)
			w.drain()
			w.accepted(http.MethodPut, path, deliveryBody)
			w.drain()
			w.accepted(http.MethodPut, path, deliveryBody)
			w.drain()
			if p := w.transactions.Get(given.TransactionID); p.State != c.final {
				t.Errorf("it is %s", p.State)
			}
		})
	}
}

// Ensure that requests, and operations outside of their transactions, are kept as
// long as the setting keeps transactions: neither longer nor shorter.
func TestRequestsLiveAsLongAsTransactions(t *testing.T) {
	for days, want := range map[string]int{"22": 22 * 24 * 60 * 60, "60": 60 * 24 * 60 * 60} {
		w := newWorld(t, "DOCUMENT_TTL_DAYS", days)
		w.call(http.MethodPut, "/api/account/owner-1", `{"name":"Contoso","status":"active"}`)
		const path = "/api/deliveryrequests/d-1"
		w.accepted(http.MethodPut, path, deliveryBody)
		w.drain()
		for range 1 + workflow.MaxOperations {
			w.accepted(http.MethodDelete, path, "")
		}
		w.drain()
		if r := w.requests.kept["d-1"]; r.TTL != want {
			t.Errorf("%s days: the request is kept for %d s", days, r.TTL)
		}
		if all := w.outside.All(); len(all) != 1 || all[0].TTL != want {
			t.Errorf("%s days: outside %+v", days, all)
		}
		if p := w.transactions.Get("d-1"); !p.State.Final() || p.TTL < want {
			t.Errorf("%s days: the transaction is %s and kept for %d s", days, p.State, p.TTL)
		}
	}
}
