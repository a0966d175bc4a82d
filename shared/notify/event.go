package notify

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// ContentType is that of a CloudEvent's body: the structured mode of the CloudEvents
// HTTP binding 1.0.2, section 3.2.
const ContentType = "application/cloudevents+json; charset=utf-8"

// CloudEvent is one notice, as the receiver gets it. It is read-only.
type CloudEvent struct {
	// ID is the TransactionID, a slash and the notice's number: the same however
	// often the event is sent.
	ID string
	// TraceParent is the trace of this sending, "" if there is none.
	TraceParent string
	Body        []byte // CloudEvents 1.0 in JSON
}

// data is what an event says. Nothing of the client's request is in it.
type data struct {
	TransactionID string           `json:"transactionId"`
	State         workflow.State   `json:"state"`
	Cause         workflow.Cause   `json:"cause,omitempty"`
	Reason        string           `json:"reason,omitempty"`
	Revision      int              `json:"revision"`
	At            workflow.Instant `json:"at"`
}

// eventID is the id of a notice's CloudEvent.
func eventID(transactionID string, n workflow.Notice) string {
	return transactionID + "/" + strconv.Itoa(n.Number)
}

// eventType names the kind of news. The version is raised when data changes in
// a way that a receiver could stumble over; a new field is none.
func (c Config) eventType(s workflow.State) string {
	return c.Types + ".transaction." + strings.ToLower(string(s)) + ".v1"
}

// newEvent makes the event of a notice. The event's traceparent is that of the
// request that carries it, as the extension Distributed Tracing asks for when
// there is nobody between sender and receiver.
func (c Config) newEvent(transactionID string, n workflow.Notice, traceParent string) (CloudEvent, error) {
	e := event.New(event.CloudEventsVersionV1)
	e.SetID(eventID(transactionID, n))
	e.SetSource(c.Source)
	e.SetType(c.eventType(n.State))
	e.SetSubject(transactionID)
	e.SetTime(n.At.Time)
	if traceParent != "" {
		e.SetExtension("traceparent", traceParent)
	}
	err := e.SetData(event.ApplicationJSON, data{
		TransactionID: transactionID, State: n.State, Cause: n.Cause, Reason: n.Reason, Revision: n.Revision, At: n.At,
	})
	if err == nil {
		err = e.Validate()
	}
	var body []byte
	if err == nil {
		body, err = json.Marshal(e)
	}
	if err != nil {
		return CloudEvent{}, fmt.Errorf("make event %s: %w", e.ID(), err)
	}
	return CloudEvent{ID: e.ID(), TraceParent: traceParent, Body: body}, nil
}
