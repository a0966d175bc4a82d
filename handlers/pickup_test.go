package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// newOutage returns a world whose delivery backend lies behind a server of its
// own, and the switch that takes it away.
func newOutage(t *testing.T) (*world, *atomic.Bool) {
	t.Helper()
	var w *world
	away := new(atomic.Bool)
	road := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(rw, "the service is unavailable", http.StatusServiceUnavailable)
			return
		}
		base, err := url.Parse(w.server.URL)
		if err != nil {
			t.Error(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(base)
		proxy.Transport = w.client.Transport
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(road.Close)
	w = newWorld(t, "BACKEND_DELIVERY_URL", road.URL+"/api", "CALL_ATTEMPTS", "1")
	return w, away
}

// flights returns the transactions that have a drone, or had one that picked up.
func (w *world) flights() []string {
	w.t.Helper()
	all, err := w.containers["assignments"].Memory.All()
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, doc := range all {
		var a struct {
			ID      string
			Content struct{ DroneID string }
		}
		decode(w.t, doc, &a)
		if a.Content.DroneID != "" {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func (w *world) operation(url string) ingest.OperationView {
	w.t.Helper()
	resp, data := w.call(http.MethodGet, url, "")
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("get operation: %d %s", resp.StatusCode, data)
	}
	var o ingest.OperationView
	decode(w.t, data, &o)
	return o
}

// Ensure that one drone flies for a package, and no other, when its pickup is due
// while the delivery backend is away, the client cancels, and others ask for the
// same package: the cancel is Refused, and the delivery goes on to its end.
func TestAPickupInAnOutageOfTheDeliveryBackend(t *testing.T) {
	w, away := newOutage(t)
	pass := func(d time.Duration) { w.ahead.Add(int64(d)); w.work() }
	w.account("owner-1", "active")
	soon := strings.Replace(deliveryBody, pickupTime.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339), 1)
	away.Store(true)
	first := w.post(soon)
	if view := w.transaction(first.TransactionID); view.State != workflow.Running {
		t.Fatalf("in the outage: %+v", view)
	}
	pass(6 * time.Minute) // the approach is five
	resp, data := w.call(http.MethodDelete, "/api/deliveryrequests/"+first.TransactionID, "")
	cancel := w.settle(resp, data)
	if o := w.operation(cancel.OperationURL); o.State != workflow.OperationRefused || !strings.Contains(o.Reason, "has picked up the package") {
		t.Errorf("the cancel: %+v", o)
	}
	if view := w.transaction(first.TransactionID); view.State != workflow.Running {
		t.Errorf("after the cancel: %+v", view)
	}
	wantOneFlight := func(when string) {
		t.Helper()
		again := w.post(soon)
		if view := w.transaction(again.TransactionID); view.State != workflow.Compensated {
			t.Errorf("%s, the package again: %+v", when, view)
		}
		if got := w.flights(); len(got) != 1 || got[0] != first.TransactionID {
			t.Errorf("%s, drones for %v", when, got)
		}
	}
	wantOneFlight("in the air")

	away.Store(false)
	for range 3 {
		pass(6 * time.Minute) // the longest delay is five
	}
	view := w.transaction(first.TransactionID)
	if o := w.operation(first.OperationURL); view.State != workflow.Completed || o.State != workflow.OperationApplied {
		t.Fatalf("after the outage: %+v, its delivery %+v\n%s", view, o, w.log)
	}
	for _, path := range []string{"packages/package-1", "dronedeliveries/" + first.TransactionID, "deliveries/" + first.TransactionID} {
		if resp, data := w.call(http.MethodGet, "/api/"+path, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, resp.StatusCode, data)
		}
	}
	pass(2 * time.Hour)
	if _, data := w.call(http.MethodGet, "/api/deliveries/"+first.TransactionID+"/status", ""); !containsText(data, `"stage":"Completed"`) {
		t.Errorf("it has not arrived: %s", data)
	}
	wantOneFlight("behind its end")
}
