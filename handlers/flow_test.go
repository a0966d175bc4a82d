package main

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// pickupTime is of all requests here, and within the horizon.
var pickupTime = time.Now().UTC().Truncate(time.Second).Add(20 * 24 * time.Hour)

// deliveryBody asks for a delivery within two hours, in another zone.
var deliveryBody = `{"ownerId":"owner-1","pickup":{"latitude":47.64,"longitude":-122.13},
 "dropOff":{"latitude":47.61,"longitude":-122.33,"altitude":30},"pickupTime":"` + pickupTime.Format(time.RFC3339) + `",
 "deliverBy":"` + pickupTime.Add(2*time.Hour).In(time.FixedZone("", 2*60*60)).Format(time.RFC3339) + `",
 "confirmationRequired":"FingerPrint","packageInfo":{"packageId":"package-1","size":"Small","weightKg":2.5,"tag":"fragile"}}`

// post sends a request, has it relayed and worked on, and returns its receipt.
func (w *world) post(body string) receipt {
	w.t.Helper()
	resp, data := w.call(http.MethodPost, "/api/deliveryrequests", body)
	return w.settle(resp, data)
}

func (w *world) settle(resp *http.Response, data []byte) receipt {
	w.t.Helper()
	var r receipt
	if resp.StatusCode != http.StatusAccepted {
		w.t.Fatalf("answered %d %s", resp.StatusCode, data)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		w.t.Fatal(err)
	}
	if location := resp.Header.Get("Location"); location != r.OperationURL {
		w.t.Errorf("Location %s, want %s", location, r.OperationURL)
	}
	if events := w.producer.take(); len(events) > 0 {
		if status := w.relayAll(events...); status != http.StatusOK {
			w.t.Fatalf("Relay answered %d", status)
		}
	}
	w.work()
	return r
}

func (w *world) account(id, status string) {
	w.t.Helper()
	resp, data := w.call(http.MethodPut, "/api/account/"+id, `{"name":"Contoso","status":"`+status+`"}`)
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		w.t.Fatalf("put account: %d %s", resp.StatusCode, data)
	}
}

func (w *world) transaction(id string) ingest.View {
	w.t.Helper()
	resp, data := w.call(http.MethodGet, "/api/deliveryrequests/"+id, "")
	var view ingest.View
	if err := json.Unmarshal(data, &view); err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("get transaction: %d %s, %v", resp.StatusCode, data, err)
	}
	return view
}

// TestDeliveryFromEndToEnd runs a request through all functions, each called as
// the host calls it, and cancels it.
func TestDeliveryFromEndToEnd(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	r := w.post(deliveryBody)
	view := w.transaction(r.TransactionID)
	if view.State != workflow.Completed || !view.Observed || len(view.Steps) != 5 {
		t.Fatalf("got %+v\n%s", view, w.log)
	}
	for _, path := range []string{"packages/package-1", "thirdpartydeliveries/" + r.TransactionID, "dronedeliveries/" + r.TransactionID, "deliveries/" + r.TransactionID} {
		if resp, data := w.call(http.MethodGet, "/api/"+path, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, resp.StatusCode, data)
		}
	}

	resp, data := w.call(http.MethodDelete, "/api/deliveryrequests/"+r.TransactionID, "")
	cancel := w.settle(resp, data)
	if view := w.transaction(r.TransactionID); view.State != workflow.Cancelled {
		t.Errorf("after the cancel: %+v", view)
	}
	resp, data = w.call(http.MethodGet, cancel.OperationURL, "")
	var operation ingest.OperationView
	if err := json.Unmarshal(data, &operation); err != nil || resp.StatusCode != http.StatusOK || operation.State != workflow.OperationApplied {
		t.Errorf("the operation: %d %s, %v", resp.StatusCode, data, err)
	}
	for _, path := range []string{"packages/package-1", "dronedeliveries/" + r.TransactionID, "deliveries/" + r.TransactionID} {
		if resp, data := w.call(http.MethodGet, "/api/"+path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s is still there: %d %s", path, resp.StatusCode, data)
		}
	}
}

func TestRejectedDelivery(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "suspended")
	r := w.post(deliveryBody)
	if view := w.transaction(r.TransactionID); view.State != workflow.Rejected {
		t.Errorf("got %+v", view)
	}
}

func TestRescheduledDelivery(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	r := w.post(deliveryBody)
	resp, data := w.call(http.MethodPatch, "/api/deliveryrequests/"+r.TransactionID, `{"dropOff":{"latitude":47.5,"longitude":-122.3}}`)
	w.settle(resp, data)
	view := w.transaction(r.TransactionID)
	if view.State != workflow.Completed || view.Revision != 2 {
		t.Errorf("got %+v", view)
	}
	if _, data := w.call(http.MethodGet, "/api/deliveries/"+r.TransactionID, ""); !json.Valid(data) || !containsText(data, `"latitude":47.5`) {
		t.Errorf("the delivery goes elsewhere: %s", data)
	}
}
