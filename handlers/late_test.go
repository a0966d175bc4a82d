package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// slowRoad keeps the first PUT of a step on its way: the caller gives up on it.
type slowRoad struct {
	engine.Backends
	step string
	held *engine.Attempt
}

func (s *slowRoad) Do(ctx context.Context, r engine.Attempt) workflow.Outcome {
	if r.Call.Backend != s.step || r.Undo || s.held != nil {
		return s.Backends.Do(ctx, r)
	}
	s.held = &r
	return workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Message: "no answer in time"}
}

// The next four have a PUT arrive behind the DELETE that undoes it.

func TestPackagePutPastItsDelete(t *testing.T)        { putPastDelete(t, delivery.StepPackage) }
func TestTransportationPutPastItsDelete(t *testing.T) { putPastDelete(t, delivery.StepTransportation) }
func TestDronePutPastItsDelete(t *testing.T)          { putPastDelete(t, delivery.StepDrone) }
func TestDeliveryPutPastItsDelete(t *testing.T)       { putPastDelete(t, delivery.StepDelivery) }

func putPastDelete(t *testing.T, step string) {
	l := newLife(t, nil, "CALL_ATTEMPTS", "1")
	road := &slowRoad{Backends: l.ports.backends, step: step}
	p := l.ports
	p.backends = road
	l.start(p)
	l.owner("active")
	l.deliverRequest(deliveryBody)
	l.relayEvents(false)
	for _, m := range l.queue.Receivable() {
		m.Lock()
		if status := l.deliver("Schedule", m.MessageID, m.Body, nil); status != http.StatusOK {
			t.Fatalf("Schedule answered %d", status)
		}
		m.Complete()
	}
	if road.held == nil || l.transactions.Get("d-1").Step(step).Effect != workflow.EffectMaybe {
		t.Fatalf("held %v, step %+v", road.held, l.transactions.Get("d-1").Step(step))
	}
	l.ask(http.MethodDelete, "/api/deliveryrequests/d-1", "", http.StatusAccepted)
	l.relayEvents(false)
	l.settleAll()
	l.check(story{final: workflow.Cancelled})

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if o := road.Backends.Do(ctx, *road.held); o.Status != http.StatusGone || o.Effect != workflow.EffectNo {
		t.Errorf("the late PUT was answered %+v, want 410", o)
	}
	l.check(story{final: workflow.Cancelled})
	for _, zone := range []string{"zone-000", "zone-001"} {
		resp, fleet := l.call(http.MethodGet, "/api/drones?zone="+zone, "")
		if resp.StatusCode != http.StatusOK || containsText(fleet, `"busy"`) {
			t.Errorf("drones of %s: %d %s", zone, resp.StatusCode, fleet)
		}
	}
	if resp, _ := l.call(http.MethodGet, "/api/thirdpartydeliveries/d-1", ""); resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusGone {
		t.Errorf("the booking is there: %d", resp.StatusCode)
	}
}
