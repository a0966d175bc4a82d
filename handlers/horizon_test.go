package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// faultsOf returns the fields at fault of a request that is refused, none if it is
// accepted.
func (w *world) faultsOf(method, path, body string) []string {
	w.t.Helper()
	resp, data := w.call(method, path, body)
	if resp.StatusCode == http.StatusAccepted {
		return nil
	}
	var p problem.Problem
	if err := json.Unmarshal(data, &p); err != nil || resp.StatusCode != http.StatusBadRequest || p.Type != problem.Invalid.ID {
		w.t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, data, err)
	}
	var pointers []string
	for _, f := range p.Errors {
		pointers = append(pointers, f.Pointer)
	}
	slices.Sort(pointers)
	return pointers
}

// Ensure that a pickup beyond the horizon is refused with every other fault,
// whatever way it comes in, and taken when its time has come near.
func TestAPickupBeyondTheHorizon(t *testing.T) {
	w := newWorld(t, "PICKUP_HORIZON_DAYS", "19")
	w.account("owner-1", "active")
	const path = "/api/deliveryrequests"
	later := `{"pickupTime":"` + pickupTime.Add(time.Hour).Format(time.RFC3339) + `"}`
	soon := strings.Replace(deliveryBody, pickupTime.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339), 1)
	if pointers := w.faultsOf(http.MethodPut, path+"/near", soon); pointers != nil {
		t.Fatalf("a pickup now: %v", pointers)
	}
	bodies := []struct {
		method, path, body string
		want               []string
	}{
		{http.MethodPost, path, deliveryBody, []string{"/pickupTime"}},
		{http.MethodPut, path + "/mine", deliveryBody, []string{"/pickupTime"}},
		{http.MethodPut, path + "/mine", strings.Replace(deliveryBody, "2.5", "0", 1), []string{"/packageInfo/weightKg", "/pickupTime"}},
		{http.MethodPatch, path + "/near", later, []string{"/pickupTime"}},
		{http.MethodPatch, path + "/near", strings.Replace(later, "{", `{"dropOff":{"latitude":99,"longitude":0},`, 1), []string{"/dropOff/latitude", "/pickupTime"}},
	}
	for _, b := range bodies {
		if got := w.faultsOf(b.method, b.path, b.body); !slices.Equal(got, b.want) {
			t.Errorf("%s %s: faults %v, want %v", b.method, b.path, got, b.want)
		}
	}
	w.ahead.Store(int64(25 * time.Hour))
	for _, b := range bodies {
		if want := b.want[:len(b.want)-1]; !slices.Equal(w.faultsOf(b.method, b.path, b.body), want) {
			t.Errorf("%s %s a day later: not %v", b.method, b.path, want)
		}
	}
}

// Ensure that what was accepted under a longer horizon, or none, is delivered and
// can be changed in all but its pickup, and that its document outlives its flight.
func TestTheHorizonIsForClientsAlone(t *testing.T) {
	w := newWorld(t, "PICKUP_HORIZON_DAYS", "1")
	w.account("owner-1", "active")
	e := engine.Envelope{
		Schema: engine.EnvelopeSchema, TransactionID: "old-1", OperationID: "o-1", Operation: string(workflow.OperationStart),
		AcceptedAt: w.now(), Body: json.RawMessage(deliveryBody),
	}
	if status := w.relayAll(encode(t, e)); status != http.StatusOK {
		t.Fatalf("Relay answered %d", status)
	}
	w.work()
	p := w.transactions.Get("old-1")
	if p == nil || p.State != workflow.Completed {
		t.Fatalf("got %+v", p)
	}
	resp, data := w.call(http.MethodPatch, "/api/deliveryrequests/old-1", `{"dropOff":{"latitude":47.5,"longitude":-122.3}}`)
	w.settle(resp, data)
	p = w.transactions.Get("old-1")
	if p.State != workflow.Completed || p.Revision != 2 {
		t.Errorf("after the change: %s at revision %d", p.State, p.Revision)
	}
	if expiry := p.EndedAt.Add(time.Duration(p.TTL) * time.Second); expiry.Before(pickupTime.Add(29 * 24 * time.Hour)) {
		t.Errorf("the document lives until %s, the pickup is at %s", expiry, pickupTime)
	}
}
