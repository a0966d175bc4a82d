package enginetest_test

import (
	"bytes"
	"encoding/json"
	"slices"

	"pgregory.net/rapid"

	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// end lets everything come to rest and compares it with what was asked for.
func (h *history) end(t *rapid.T) {
	h.calm()
	h.w.Settle()
	for len(h.late) > 0 {
		h.arrives(len(h.late) - 1)
	}
	check(t, h.w)
	for _, id := range transactions {
		h.compare(t, id)
	}
}

func (h *history) compare(t *rapid.T, id string) {
	posted := h.posted[id]
	p := h.w.Store.Get(id)
	if p == nil {
		if len(posted) > 0 {
			t.Fatalf("%s is lost", id)
		}
		return
	}
	var delivered, cancelled bool
	for _, op := range posted {
		delivered = delivered || op.Kind == workflow.OperationStart
		cancelled = cancelled || op.Kind == workflow.OperationCancel
		if p.Operation(op.ID) == nil || h.w.Outside.Get(op.ID) != nil {
			t.Errorf("operation %s is lost, or outside", op.ID)
		}
	}
	for _, id := range h.foreign[p.ID] {
		op, outside := p.Operation(id), h.w.Outside.Get(id)
		if op != nil && (delivered || op.State != workflow.OperationRefused) {
			t.Errorf("another's operation is on record: %+v", op)
		}
		if (op == nil) != (outside != nil) || outside != nil && outside.State != workflow.OperationRefused {
			t.Errorf("another's operation is %+v, outside %+v", op, outside)
		}
	}
	refuses := h.refused["hotel"] || h.refused["flight"] || h.refused["payment"]
	var allowed []workflow.State
	switch {
	case !delivered:
		allowed = append(allowed, workflow.Rejected) // the delivery never came
	case refuses:
		allowed = append(allowed, workflow.Rejected, workflow.Compensated)
	default:
		allowed = append(allowed, workflow.Completed)
	}
	if h.turns != "" && delivered {
		refuses = refuses || h.asked[id] > 1
		allowed = append(allowed, workflow.Rejected, workflow.Compensated)
	}
	if cancelled && (delivered || h.owners[id] == "") { // an owner's cancel waits for the delivery
		allowed = append(allowed, workflow.Cancelled)
		if delivered && !refuses {
			allowed = []workflow.State{workflow.Cancelled}
		}
	}
	if p.Cause == workflow.CauseExpired { // the history took longer than its time limit
		allowed = append(allowed, workflow.Rejected, workflow.Compensated)
	}
	if h.w.Backends.Finished("flights/" + id) { // whoever cancelled it, or when
		allowed = []workflow.State{workflow.Completed}
		if refuses || p.Cause == workflow.CauseExpired || h.strandedChange(p) {
			allowed = []workflow.State{workflow.Stuck}
		}
		if h.turned(p) && p.Cause != workflow.CauseExpired {
			allowed = append(allowed, workflow.Completed)
		}
	} else if p.State == workflow.Stuck {
		t.Errorf("%s is Stuck, and its flight could be undone", id)
	}
	if !slices.Contains(allowed, p.State) {
		t.Fatalf("%s ended %s, want one of %v:\n%s", id, p.State, allowed, enginetest.Describe(p))
	}
	if p.State == workflow.Rejected {
		for _, s := range p.Steps {
			if n := h.w.Backends.Created(s.Name + "s/" + id); n > 0 {
				t.Errorf("%s is Rejected, and %s came into being:\n%s", id, s.Name, enginetest.Describe(p))
			}
		}
		if p.Step("hotel").Attempts > 0 && h.w.Engine.Budgets.SaveEvery > 0 {
			h.note("a transaction is Rejected with all marked")
		}
	}
	h.compareRequest(t, p)
	h.compareLeft(t, p)
}

// turned reports whether the one refusal was of a first revision that nobody knew
// of any more when a change made a second one, which the service took.
func (h *history) turned(p *workflow.Progress) bool {
	return h.turns != "" && !h.refused["hotel"] && !h.refused["flight"] && !h.refused["payment"] && p.Step(h.turns).Revision > 1
}

// strandedChange reports whether the flight took off as a change wanted it that
// another service then refused, or the other way round, before the transaction
// was ever completed: so there was nothing to go back to.
func (h *history) strandedChange(p *workflow.Progress) bool {
	refusal := p.Step("flight").Error
	changed := slices.ContainsFunc(p.Operations, func(op workflow.OperationRecord) bool {
		return op.Kind == workflow.OperationReschedule && op.State == workflow.OperationRefused && op.Revision > 0
	})
	completed := slices.ContainsFunc(p.History, func(e workflow.StateChange) bool { return e.Transition == workflow.TransitionComplete })
	return p.Cause == workflow.CauseFailed && changed && !completed && refusal != nil && refusal.Message == "it has happened as it was"
}

// compareLeft holds a completed transaction that was left as it was to what that
// means: its flight has taken off and refuses every change, and each service
// holds what one revision asked for, the step's or one that was tried since.
func (h *history) compareLeft(t *rapid.T, p *workflow.Progress) {
	if p.State != workflow.Completed || !left(t, p) {
		return
	}
	flight := p.Step("flight")
	if !h.w.Backends.Finished("flights/"+p.ID) || flight.Error == nil || flight.Error.Message != "it has happened as it was" {
		t.Errorf("%s was left as it was, and its flight has refused nothing:\n%s", p.ID, enginetest.Describe(p))
	}
	requests := h.requests(t, p)
	newest := 0 // of the results that a call is made of
	for _, s := range p.Steps {
		then := p.Clone()
		path := h.w.Engine.Definition.CallOf(p, s.Name).Path
		revision := h.w.Backends.Revision(path)
		if revision < s.Revision || revision > max(s.Revision, s.Tried) || revision >= len(requests) {
			t.Fatalf("%s has revision %d, of the %d that there were:\n%s", path, revision, len(requests)-1, enginetest.Describe(p))
		}
		then.Request = requests[revision]
		got, want := h.w.Backends.Body(path), h.w.Engine.Definition.CallOf(then, s.Name).Body
		if newest > revision { // it was made of results that others have taken the place of
			got, want = part(t, got), part(t, want)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s holds %s of revision %d, it should %s:\n%s", path, got, revision, want, enginetest.Describe(p))
		}
		newest = max(newest, s.Revision)
	}
}

// part is what of a call's body comes from the request.
func part(t *rapid.T, body []byte) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return fields["part"]
}

// requests returns what each revision has asked for, by its number.
func (h *history) requests(t *rapid.T, p *workflow.Progress) []json.RawMessage {
	requests := []json.RawMessage{nil, workflowtest.TripBody()}
	var taken []workflow.OperationRecord
	for _, op := range p.Operations {
		if op.Kind == workflow.OperationReschedule && op.Revision > 0 {
			taken = append(taken, op)
		}
	}
	slices.SortFunc(taken, func(a, b workflow.OperationRecord) int { return a.Revision - b.Revision })
	for _, op := range taken {
		before := requests[len(requests)-1]
		i := slices.IndexFunc(h.posted[p.ID], func(posted workflow.Operation) bool { return posted.ID == op.ID })
		request, err := h.w.Engine.Definition.Merge(before, h.posted[p.ID][i].Body)
		if err != nil {
			t.Fatalf("%s was taken up: %v", op.ID, err)
		}
		requests = append(requests, request)
		if op.State == workflow.OperationRefused {
			requests = append(requests, before)
		}
	}
	return requests
}

// compareRequest holds the request of a completed transaction to the changes
// that were applied, in the order of their ids.
func (h *history) compareRequest(t *rapid.T, p *workflow.Progress) {
	if p.State != workflow.Completed {
		return
	}
	want := workflowtest.TripBody()
	for _, op := range h.posted[p.ID] {
		if op.Kind != workflow.OperationReschedule || p.Operation(op.ID).State != workflow.OperationApplied {
			continue
		}
		var err error
		if want, err = h.w.Engine.Definition.Merge(want, op.Body); err != nil {
			t.Fatalf("%s was applied: %v", op.ID, err)
		}
	}
	if !bytes.Equal(p.Request, want) {
		t.Errorf("the request is %s, want %s:\n%s", p.Request, want, enginetest.Describe(p))
	}
}
