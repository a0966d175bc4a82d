package main

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that a request is read once, when it is accepted: its canonical bytes go
// through the hub, the queue and the documents to the steps, each of which builds
// its call from them once.
func TestRequestIsReadOnce(t *testing.T) {
	w := newWorld(t)
	w.account("owner-1", "active")
	b := chosen.Business()
	var mu sync.Mutex
	var canonical json.RawMessage
	parsed, built := 0, map[string]int{}
	parse := b.Parse
	b.Parse = func(body []byte, v business.Values, now time.Time) (business.Request, error) {
		r, err := parse(body, v, now)
		mu.Lock()
		defer mu.Unlock()
		parsed, canonical = parsed+1, r.Canonical
		return r, err
	}
	for i, step := range b.Workflow.Steps {
		b.Workflow.Steps[i].Call = func(in workflow.Input) workflow.Call {
			mu.Lock()
			defer mu.Unlock()
			built[step.Name]++
			if !bytes.Equal(in.Request, canonical) {
				t.Errorf("step %s has %s, accepted was %s", step.Name, in.Request, canonical)
			}
			return step.Call(in)
		}
	}
	app, err := assemble(b, w.settings, w.app.logger, w.ports)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.app.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.app = app
	clear(built) // the start tries the business
	id := w.post(deliveryBody).TransactionID
	if p, _, err := w.transactions.Read(t.Context(), id); err != nil || p.State != workflow.Completed {
		t.Fatalf("it has not completed: %+v, %v", p, err)
	}
	if parsed != 1 {
		t.Errorf("the request was read %d times", parsed)
	}
	for _, step := range b.Workflow.Steps {
		if built[step.Name] != 1 {
			t.Errorf("the call of step %s was built %d times", step.Name, built[step.Name])
		}
	}
}
