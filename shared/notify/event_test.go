package notify

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var at = workflow.At(time.Date(2026, 3, 1, 12, 0, 1, 500_000_000, time.UTC))

// Ensure the event is what docs/notifications.md shows, and nothing else: its
// receivers depend on each of the fields.
func TestEvent(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, test := range map[string]struct {
		notice workflow.Notice
		trace  string
		want   string
	}{
		"completed": {workflow.Notice{Number: 1, State: workflow.Completed, Revision: 1, At: at}, "", `{
			"specversion": "1.0", "id": "t-1/1", "source": "/test", "type": "com.fabrikam.orders.transaction.completed.v1",
			"subject": "t-1", "time": "2026-03-01T12:00:01.5Z", "datacontenttype": "application/json",
			"data": {"transactionId": "t-1", "state": "Completed", "revision": 1, "at": "2026-03-01T12:00:01.500Z"}}`},
		"stuck": {workflow.Notice{Number: 12, State: workflow.Stuck, Cause: workflow.CauseCancelled, Reason: `no "way" <back>`, Revision: 3, At: at}, trace, `{
			"specversion": "1.0", "id": "t-1/12", "source": "/test", "type": "com.fabrikam.orders.transaction.stuck.v1",
			"subject": "t-1", "time": "2026-03-01T12:00:01.5Z", "datacontenttype": "application/json", "traceparent": "` + trace + `",
			"data": {"transactionId": "t-1", "state": "Stuck", "cause": "cancelled", "reason": "no \"way\" <back>", "revision": 3,
				"at": "2026-03-01T12:00:01.500Z"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Config{Source: "/test", Types: "com.fabrikam.orders"}.newEvent("t-1", test.notice, test.trace)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			for text, into := range map[string]*any{string(e.Body): &got, test.want: &want} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			if e.TraceParent != test.trace || e.ID != want.(map[string]any)["id"] {
				t.Errorf("id %s, trace %s", e.ID, e.TraceParent)
			}
		})
	}
}

// Ensure each state that is told has a type of its own.
func TestEventTypes(t *testing.T) {
	eventType := Config{Types: "com.fabrikam.orders"}.eventType
	seen := map[string]workflow.State{}
	for _, s := range workflow.States {
		if other, ok := seen[eventType(s)]; ok {
			t.Errorf("%s and %s share the type %s", s, other, eventType(s))
		}
		seen[eventType(s)] = s
	}
	if got := eventType(workflow.GivenUp); got != "com.fabrikam.orders.transaction.givenup.v1" {
		t.Errorf("type %s", got)
	}
}

func TestEventNeedsASource(t *testing.T) {
	if _, err := (Config{Types: "com.fabrikam.orders"}).newEvent("t-1", workflow.Notice{Number: 1, State: workflow.Completed, At: at}, ""); err == nil {
		t.Error("an event without a source is accepted")
	}
}

// Ensure docs/notifications.md shows an event as it is sent.
func TestDocumentationShowsAnEvent(t *testing.T) {
	text, err := os.ReadFile("../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```json\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	e, err := Config{Source: "/fabrikam/drone-delivery", Types: "com.fabrikam.dronedelivery"}.newEvent("0199f3c2-5b7e-7c41-9a53-5f2f7f3e9a10", workflow.Notice{
		Number: 1, State: workflow.Compensated, Cause: workflow.CauseFailed, Reason: "drone: no drone carries 90 kg", Revision: 1, At: at,
	}, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	for text, into := range map[string]*any{string(e.Body): &want, example: &got} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the example (-sent +shown):\n%s", diff)
	}
}
