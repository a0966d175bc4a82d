package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// TestOneDeliveryIsOneTrace follows a request of a client with a trace through
// all functions and backends, whether Schedule or Relay runs it.
func TestOneDeliveryIsOneTrace(t *testing.T) {
	for mode, work := range map[string]string{"queue": "process transactions", "stream": "run start", "batch": "run start"} {
		t.Run(mode, func(t *testing.T) { followDelivery(t, mode, work) })
	}
}

// followDelivery looks at the trace of a delivery, which is worked on in the span
// that is named.
func followDelivery(t *testing.T, mode, work string) {
	r := newRecorded(t, "SCHEDULER", mode)
	r.account("owner-1", "active")
	receipt := r.order()
	client := telemetry.SpanContext(clientTrace)
	all := r.inTrace(client.TraceID())

	ingest := named(t, all, "POST /api/deliveryrequests", 1)[0]
	if ingest.Parent().SpanID() != client.SpanID() || ingest.SpanKind() != trace.SpanKindServer ||
		attr(ingest, telemetry.KeyTransaction) != receipt.TransactionID || attr(ingest, "http.response.status_code") != "202" {
		t.Errorf("ingest: %v below %v", ingest.Attributes(), ingest.Parent())
	}
	schedule := named(t, all, work, 1)[0]
	if schedule.Parent().SpanID() != ingest.SpanContext().SpanID() || schedule.SpanKind() != trace.SpanKindConsumer ||
		attr(schedule, telemetry.KeyTransaction) != receipt.TransactionID || attr(schedule, telemetry.KeyOperation) != receipt.OperationID {
		t.Errorf("schedule: %v below %v", schedule.Attributes(), schedule.Parent())
	}
	relay := r.checkBatches(ingest)
	if mode == "queue" {
		queued := named(t, r.spans.Ended(), "send transactions", 1)[0]
		if queued.Parent().SpanID() != relay.SpanContext().SpanID() || queued.SpanKind() != trace.SpanKindProducer {
			t.Errorf("the send to the queue is below %v", queued.Parent())
		}
		if attr(schedule, "messaging.message.id") != receipt.OperationID {
			t.Errorf("schedule: %v", schedule.Attributes())
		}
	} else if !linksTo(schedule, relay) {
		t.Errorf("what Relay runs has the links %v", schedule.Links())
	}
	routes := map[string]string{
		workflowStep("account"): "GET /api/account/{id}", workflowStep("package"): "PUT /api/packages/{id}",
		workflowStep("transportation"): "PUT /api/thirdpartydeliveries/{id}", workflowStep("drone"): "PUT /api/dronedeliveries/{id}",
		workflowStep("delivery"): "PUT /api/deliveries/{id}",
	}
	if got := below(all, schedule); len(got) != len(routes) {
		t.Errorf("below schedule are %s", names(got))
	}
	for step, route := range routes {
		attempt := named(t, below(all, schedule), step, 1)[0]
		if attempt.SpanKind() != trace.SpanKindClient || attr(attempt, "attempt") != "1" || attr(attempt, "outcome") != "succeeded" ||
			attr(attempt, "server.address") != "127.0.0.1" || !strings.HasPrefix(route, attr(attempt, "http.request.method")+" ") {
			t.Errorf("%s: %v", step, attempt.Attributes())
		}
		served := below(all, attempt)
		if len(served) != 1 || served[0].Name() != route || served[0].SpanKind() != trace.SpanKindServer ||
			attr(served[0], telemetry.KeyTransaction) != receipt.TransactionID {
			t.Errorf("%s was served by %s", step, names(served))
		}
	}
	if len(all) != 2+2*len(routes) {
		t.Errorf("%d spans: %s", len(all), names(all))
	}
	for _, s := range r.spans.Ended() {
		for _, a := range s.Attributes() {
			if value := a.Value.String(); strings.Contains(value, "owner-1") || strings.Contains(value, "package-1") {
				t.Errorf("%s has %s=%s", s.Name(), a.Key, value)
			}
		}
	}
}

// workflowStep is the name of a step's span.
func workflowStep(name string) string { return "step " + name }

// checkBatches looks at what carries events of several traces: spans of traces
// of their own, with a link to each. It returns Relay's.
func (r *recorded) checkBatches(ingest span) (relay span) {
	r.t.Helper()
	all := r.spans.Ended()
	sent := named(r.t, all, "send requests", 1)[0]
	relay = named(r.t, all, "process requests", 1)[0]
	for _, s := range []span{sent, relay} {
		if s.Parent().IsValid() || !linksTo(s, ingest) || attr(s, "messaging.batch.message_count") != "1" || attr(s, "messaging.system") != "eventhubs" {
			r.t.Errorf("%s: below %v, links %v, %v", s.Name(), s.Parent(), s.Links(), s.Attributes())
		}
	}
	return relay
}

// TestARepeatIsMeasured has an event read again, where no queue drops it.
func TestARepeatIsMeasured(t *testing.T) {
	r := newRecorded(t, "SCHEDULER", "stream")
	r.account("owner-1", "active")
	r.call(http.MethodPost, "/api/deliveryrequests", deliveryBody)
	events := r.producer.take()
	for range 2 {
		if status := r.relayAll(events...); status != http.StatusOK {
			t.Fatalf("Relay answered %d", status)
		}
	}
	r.measured("drone_delivery.operations.recognized", "", 1)
}

func TestTraceOfARejectedDelivery(t *testing.T) {
	r := newRecorded(t)
	r.account("owner-1", "suspended")
	r.order()
	all := r.inTrace(telemetry.SpanContext(clientTrace).TraceID())
	named(t, all, "step account", 1)
	named(t, all, "step package", 0)
	schedule := named(t, all, "process transactions", 1)[0]
	if events := schedule.Events(); len(events) != 2 || events[1].Name != "Rejected" {
		t.Errorf("events %v", events)
	}
}

// TestTraceOfACompensatedDelivery has a step rejected after others had an effect:
// what is undone, is undone in the trace of the delivery.
func TestTraceOfACompensatedDelivery(t *testing.T) {
	r := newRecorded(t)
	r.account("owner-1", "active")
	resp, data := r.call(http.MethodPost, "/api/deliveryrequests",
		strings.Replace(deliveryBody, `"weightKg":2.5`, `"weightKg":50`, 1), "traceparent", clientTrace)
	receipt := r.settle(resp, data)
	if view := r.transaction(receipt.TransactionID); view.State != workflow.Compensated {
		t.Fatalf("got %+v", view)
	}
	all := r.inTrace(telemetry.SpanContext(clientTrace).TraceID())
	rejected := named(t, all, "step drone", 1)[0]
	if attr(rejected, "outcome") != "rejected" || rejected.Status().Code.String() != "Error" {
		t.Errorf("%v, %v", rejected.Attributes(), rejected.Status())
	}
	supervise := named(t, all, "process compensations", 1)[0]
	ingest := named(t, all, "POST /api/deliveryrequests", 1)[0]
	if supervise.Parent().SpanID() != ingest.SpanContext().SpanID() {
		t.Errorf("supervise is below %v", supervise.Parent())
	}
	for _, step := range []string{"package", "transportation"} {
		undo := named(t, all, "undo "+step, 1)[0]
		if undo.Parent().SpanID() != supervise.SpanContext().SpanID() || attr(undo, "outcome") != "undone" {
			t.Errorf("undo of %s: %v", step, undo.Attributes())
		}
	}
	r.measured("drone_delivery.compensations", "cause=failed", 1)
	r.measured("drone_delivery.wakes", "queue=compensations", 1)
}

// TestTraceOfACancelledDelivery cancels with another trace: the message is
// worked on in the cancel's, which refers to the delivery's, and the undoing is
// in the delivery's.
func TestTraceOfACancelledDelivery(t *testing.T) {
	r := newRecorded(t)
	r.account("owner-1", "active")
	receipt := r.order()
	const other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	resp, data := r.call(http.MethodDelete, "/api/deliveryrequests/"+receipt.TransactionID, "", "traceparent", other)
	r.settle(resp, data)
	if view := r.transaction(receipt.TransactionID); view.State != workflow.Cancelled {
		t.Fatalf("got %+v", view)
	}
	delivery := r.inTrace(telemetry.SpanContext(clientTrace).TraceID())
	cancel := r.inTrace(telemetry.SpanContext(other).TraceID())
	named(t, cancel, "DELETE /api/deliveryrequests/{id}", 1)
	if schedule := named(t, cancel, "process transactions", 1)[0]; !linksTo(schedule, named(t, delivery, "POST /api/deliveryrequests", 1)[0]) {
		t.Errorf("the cancel does not refer to the delivery: %v", schedule.Links())
	}
	for _, step := range []string{"package", "transportation", "drone", "delivery"} {
		named(t, delivery, "undo "+step, 1)
	}
	r.measured("drone_delivery.requests.accepted", "operation=cancel", 1)
}

// TestLaterWakesStayInTheTrace has a backend fail: the wake that comes later goes
// on with the same trace, and counts the attempts on.
func TestLaterWakesStayInTheTrace(t *testing.T) {
	r := newRecorded(t, "CALL_ATTEMPTS", "1")
	r.account("owner-1", "active")
	r.backendsDown.Store(true)
	r.order()
	r.backendsDown.Store(false)
	r.ahead.Add(int64(time.Hour))
	r.work()
	all := r.inTrace(telemetry.SpanContext(clientTrace).TraceID())
	named(t, all, "process transactions", 2)
	attempts := named(t, all, "step account", 2)
	if attr(attempts[0], "attempt") != "1" || attr(attempts[0], "outcome") != "unknown" || attr(attempts[0], "error.type") != "unknown" ||
		attr(attempts[1], "attempt") != "2" || attr(attempts[1], "outcome") != "succeeded" {
		t.Errorf("attempts %v, %v", attempts[0].Attributes(), attempts[1].Attributes())
	}
	r.measured("drone_delivery.step.retries", "step=account", 1)
	r.measured("drone_delivery.step.outcomes", "outcome=unknown,step=account", 1)
}

// TestTraceOfANotice has the receiver told in the trace of the delivery.
func TestTraceOfANotice(t *testing.T) {
	r := newRecorded(t, told...)
	r.account("owner-1", "active")
	r.order()
	all := r.inTrace(telemetry.SpanContext(clientTrace).TraceID())
	notify := named(t, all, "process notifications", 1)[0]
	post := below(all, notify)
	if len(post) != 1 || post[0].Name() != "POST" || post[0].SpanKind() != trace.SpanKindClient {
		t.Fatalf("below %s are %s", notify.Name(), names(post))
	}
	if sent := telemetry.SpanContext(r.receiver.trace); sent.SpanID() != post[0].SpanContext().SpanID() {
		t.Errorf("the notice has the trace %s", r.receiver.trace)
	}
}

// TestAClientCantSayForWhomItCalls has a header count only where our own
// functions call.
func TestAClientCantSayForWhomItCalls(t *testing.T) {
	r := newRecorded(t)
	r.call(http.MethodGet, "/api/deliveryrequests/x", "", "Transaction-Id", "forged")
	r.call(http.MethodGet, "/api/account/x", "", "Transaction-Id", "t-1")
	r.call(http.MethodGet, "/api/account/y", "", "Transaction-Id", "no id!")
	for i, want := range []string{"", "t-1", ""} {
		if s := r.spans.Ended()[i]; attr(s, telemetry.KeyTransaction) != want {
			t.Errorf("%s has transaction %q, want %q", s.Name(), attr(s, telemetry.KeyTransaction), want)
		}
	}
}

// TestTheHostsSpanIsLinked has the host send a span of its own with a message.
func TestTheHostsSpanIsLinked(t *testing.T) {
	r := newRecorded(t)
	const host = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	body, err := json.Marshal(map[string]any{
		"Data": map[string]any{"message": "e30="},
		"Metadata": map[string]any{"SequenceNumber": "7", "DeliveryCount": "3", "MessageId": `"m"`,
			"ApplicationProperties": map[string]string{"traceparent": clientTrace}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.call(http.MethodPost, "/Schedule", string(body), "X-Azure-Functions-InvocationId", "i-7", "traceparent", host)
	s := named(t, r.inTrace(telemetry.SpanContext(clientTrace).TraceID()), "process transactions", 1)[0]
	if len(s.Links()) != 1 || s.Links()[0].SpanContext.TraceID() != telemetry.SpanContext(host).TraceID() ||
		attr(s, "messaging.servicebus.message.delivery_count") != "3" || attr(s, "faas.invocation_id") != "i-7" {
		t.Errorf("links %v, %v", s.Links(), s.Attributes())
	}
	// Without a trace in the message the host's span is the parent.
	r.call(http.MethodPost, "/Schedule", strings.Replace(string(body), clientTrace, "", 1), "X-Azure-Functions-InvocationId", "i-8", "traceparent", host)
	s = named(t, r.inTrace(telemetry.SpanContext(host).TraceID()), "process transactions", 1)[0]
	if s.Parent().SpanID() != telemetry.SpanContext(host).SpanID() || len(s.Links()) != 0 {
		t.Errorf("below %v, links %v", s.Parent(), s.Links())
	}
}
