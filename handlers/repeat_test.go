package main

import (
	"net/http"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// TestRepeatedInvocationIsOneCancel has the host send a DELETE a second time, as
// it does when the handler dies under it: also when the first has taken effect
// meanwhile.
func TestRepeatedInvocationIsOneCancel(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	resp, data := w.call(http.MethodPut, "/api/deliveryrequests/mine", deliveryBody)
	w.settle(resp, data)
	cancel := func(invocation string) (int, receipt) {
		resp, data := w.call(http.MethodDelete, "/api/deliveryrequests/mine", "", customhandler.InvocationHeader, invocation)
		var r receipt
		if resp.StatusCode == http.StatusAccepted {
			decode(t, data, &r)
		}
		return resp.StatusCode, r
	}
	_, first := cancel("i-1")
	w.relayAll(w.producer.take()...)
	w.work()
	if p := w.transactions.Get("mine"); p.State != workflow.Cancelled {
		t.Fatalf("it is %s", p.State)
	}
	if status, again := cancel("i-1"); status != http.StatusAccepted || again.OperationID != first.OperationID || !again.Repeated {
		t.Errorf("the same invocation again: %d %+v, want 202 and operation %s", status, again, first.OperationID)
	}
	if status, _ := cancel("i-2"); status != http.StatusConflict {
		t.Errorf("another one: %d, want 409", status)
	}
}
