package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

const (
	noMore      = "a transaction takes at most 50 operations of the kind "
	noMoreBytes = "a transaction takes at most 524288 bytes of changes"
)

// Ensure the operations of one transaction are bounded by kind, that each beyond
// the bound is Refused outside, and that neither the delivery nor a cancel is
// turned away for the others.
func TestOperationsAreBounded(t *testing.T) {
	r := newRun(t)
	const more = 5
	for i := range workflow.MaxOperations + more {
		if r.receive(workflow.OperationReschedule, fmt.Sprintf("op-%04d", i+1000), nights("5")) != (i < workflow.MaxOperations) {
			t.Errorf("reschedule %d", i)
		}
	}
	if len(r.p.Operations) != workflow.MaxOperations || len(r.outside) != more {
		t.Fatalf("%d operations and %d outside", len(r.p.Operations), len(r.outside))
	}
	r.wantOutside("op-1050", noMore+"reschedule")
	if !r.receive(workflow.OperationStart, "op-1", workflowtest.TripBody()) {
		t.Error("the delivery was turned away")
	}
	for i := range workflow.MaxOperations + 1 {
		r.receive(workflow.OperationCancel, fmt.Sprintf("op-%04d", i+2000), nil)
	}
	r.wantOutside("op-2050", noMore+"cancel")
	r.advance().want(workflow.Cancelled)
	if r.receive(workflow.OperationReschedule, "op-3000", nights("5")) {
		t.Error("there is room again for what was refused")
	}
}

// change is a body of that many bytes.
func change(bytes int) json.RawMessage {
	const frame = `{"city":""}`
	return json.RawMessage(`{"city":"` + strings.Repeat("x", bytes-len(frame)) + `"}`)
}

// Ensure the changes of one transaction are bounded by their bytes, and stay so
// when they are done with.
func TestBytesOfChangesAreBounded(t *testing.T) {
	r := delivered(t)
	const size = 64 << 10
	for i := range workflow.MaxChangeBytes / size {
		if !r.receive(workflow.OperationReschedule, fmt.Sprintf("op-%d", 10+i), change(size)) {
			t.Fatalf("change %d was turned away", i)
		}
	}
	r.receive(workflow.OperationReschedule, "op-90", change(11))
	r.wantOutside("op-90", noMoreBytes)
	if !r.receive(workflow.OperationCancel, "op-91", nil) {
		t.Error("a cancel was turned away")
	}
	r.unwindAll()
	r.wantState(workflow.Cancelled)
	r.receive(workflow.OperationReschedule, "op-92", change(11))
	r.wantOutside("op-92", noMoreBytes)
}

// unwindAll lets a cancelled run end.
func (r *run) unwindAll() {
	r.Helper()
	r.finish(ok, ok)
	for range 10 {
		if r.p.State != workflow.Compensating {
			return
		}
		r.unwind()
		var outcomes []workflow.Outcome
		for range r.d.InFlight(r.p) {
			outcomes = append(outcomes, ok)
		}
		r.undone(outcomes...)
	}
}

// Ensure that a document with as much in it as it takes, of services that say as
// much as they can, is below what Cosmos DB stores: 2 MB (Microsoft Learn, "Azure
// Cosmos DB service quotas", per-item limits). One of a business whose requests
// and answers are small, as those of the deliveries are, is far below.
func TestDocumentStaysBelowTheLimit(t *testing.T) {
	for _, tt := range []struct{ body, change, most int }{ // bytes; body is a request's, and an answer's
		{64 << 10, 10 << 10, 1792 << 10},
		{2 << 10, 2 << 10, 960 << 10},
	} {
		t.Run(fmt.Sprint(tt.body), func(t *testing.T) { testFullDocument(t, tt.body, tt.change, tt.most) })
	}
}

func testFullDocument(t *testing.T, body, changes, most int) {
	const steps = 5
	long := strings.Repeat(`"`, body)
	d := workflowtest.Trip()
	p := d.New("t", workflowtest.Start, limits)
	p.Request, p.Previous = change(body), change(body)
	for len(p.Steps) < steps {
		p.Steps = append(p.Steps, workflow.StepProgress{Name: fmt.Sprint(len(p.Steps)), State: workflow.StepPending})
	}
	told := limits
	told.Notify = true
	failed := workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 503, Type: long, Message: long}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Result = change(body)
		s.State = workflow.StepStarted
		d.Record(p, []workflow.Finished{finished(s.Name, failed)}, backoff, workflowtest.Start)
		s.State = workflow.StepUndoing
		if err := d.RecordUndo(p, []workflow.Finished{finished(s.Name, failed)}, backoff, workflow.Limits{UndoAttempts: 1000}, workflowtest.Start); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 * workflow.MaxOperations {
		for _, kind := range []workflow.OperationKind{workflow.OperationStart, workflow.OperationReschedule, workflow.OperationCancel} {
			p.Receive(workflow.Operation{ID: fmt.Sprintf("%s-%03d", kind, n), Kind: kind, Body: change(changes), AcceptedAt: workflowtest.Start})
		}
	}
	for i := range p.Operations {
		if op := &p.Operations[i]; op.Kind != workflow.OperationReschedule {
			op.Reason = p.Steps[0].Error.Message // as of a step that was rejected
		}
	}
	for range 2 * workflow.MaxHistory {
		p.State = workflow.Running
		if err := p.Stick(p.Steps[0].Name+": "+p.Steps[0].Error.Message, workflowtest.Start, told); err != nil {
			t.Fatal(err)
		}
	}
	// Of each change and each cancel that came too late, and of operators' retries
	// (operate.MaxUntold).
	p.Outbox.Notices = p.Outbox.Notices[:3*workflow.MaxOperations+2]
	doc, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes with %d operations, %d entries of history and %d notices", len(doc), len(p.Operations), len(p.History), len(p.Outbox.Notices))
	if len(doc) > most {
		t.Errorf("the document has %d bytes, more than %d", len(doc), most)
	}
}

func finished(step string, o workflow.Outcome) workflow.Finished {
	f := workflow.Finished{Step: step}
	f.Add(o)
	return f
}

// Ensure that what a service says is kept readable, and short.
func TestTextsAreShort(t *testing.T) {
	for name, text := range map[string]string{
		"signs of many bytes": strings.Repeat("Ж€", 10_000), "controls": strings.Repeat("\x00\x1b", 10_000), "no text": strings.Repeat("\xff", 10_000),
	} {
		r := delivered(t)
		r.d.Record(r.p, r.results([]workflow.Outcome{{Retry: workflow.RetryNever, Status: 400, Message: text}, ok}), backoff, r.now)
		message := r.p.Step("hotel").Error.Message
		doc, err := json.Marshal(message)
		if err != nil || len(message) > 1000 || len(message) < 900 || len(doc) > 2*len(message) || !utf8.ValidString(message) || !strings.HasSuffix(message, "…") {
			t.Errorf("%s: %d bytes, %d stored, %v", name, len(message), len(doc), err)
		}
	}
	r := delivered(t)
	r.receive(workflow.OperationReschedule, "op-2", json.RawMessage(`"`+strings.Repeat("x", 5000)+`"`))
	r.d.Merge = func(_, change json.RawMessage) (json.RawMessage, error) {
		return nil, fmt.Errorf("can't be: %s", change)
	}
	r.now = r.now.Add(time.Second)
	r.finish(ok, ok).wantOperation("op-2", workflow.OperationRefused)
	if n := len(r.p.Operation("op-2").Reason); n > 1000 {
		t.Errorf("a reason of %d bytes", n)
	}
}
