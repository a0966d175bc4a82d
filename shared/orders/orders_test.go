package orders

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

const order = `{"customer":"ann","item":"i-1","quantity":2,"address":"1 Rue A","country":"FR","mail":"ann@example.com"}`

func TestDefinition(t *testing.T) {
	d := steps()
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	in := workflow.Input{TransactionID: "t", Revision: 1, Request: json.RawMessage(order), Results: map[string]json.RawMessage{
		StepStock: json.RawMessage(`{"id":"t","item":"i-1","quantity":2,"priceCents":250}`),
	}}
	want := map[string]string{
		StepStock:    `reservations/i-1/t {"quantity":2}`,
		StepPayment:  `payments/t {"customer":"ann","cents":500}`,
		StepShipment: `shipments/t {"item":"i-1","quantity":2,"address":"1 Rue A","country":"FR"}`,
		StepMail:     `mails/t {"to":"ann@example.com"}`,
	}
	for _, s := range d.Steps {
		call, undo := s.Call(in), s.Undo(in)
		if got := call.Path + " " + string(call.Body); got != want[s.Name] || call.Backend != s.Name {
			t.Errorf("%s calls %s %s", s.Name, call.Backend, got)
		}
		if undo.Path != call.Path || undo.Method != "DELETE" || undo.Backend != s.Name {
			t.Errorf("%s is undone by %+v", s.Name, undo)
		}
	}
}

func TestParse(t *testing.T) {
	r, err := parse([]byte(order), nil, time.Time{})
	if err != nil || string(r.Canonical) != order || r.Account != "ann" {
		t.Fatalf("%s, %v", r.Canonical, err)
	}
	_, err = parse([]byte(`{"customer":"a b","quantity":1.5,"country":"FRA","mail":"x","extra":1}`), nil, time.Time{})
	if p := problem.From(err); len(p.Errors) != 6 {
		t.Errorf("faults %+v", p.Errors)
	}
}

func TestChange(t *testing.T) {
	c, err := parseChange([]byte(`{"quantity": 5}`), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	merged, err := merge(json.RawMessage(order), c)
	if err != nil || read(merged).Quantity != 5 || read(merged).Mail != "ann@example.com" {
		t.Errorf("%s, %v", merged, err)
	}
	if !affected(json.RawMessage(order), merged) || affected(merged, merged) {
		t.Error("steps are redone for what changes, and for nothing else")
	}
	for _, bad := range []string{`{}`, `{"quantity":0}`, `{"address":"x"}`} {
		if _, err := parseChange([]byte(bad), nil, time.Time{}); problem.From(err).Status != 400 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
