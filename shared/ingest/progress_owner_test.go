package ingest

import (
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// early is a transaction whose delivery is not here yet, of which two callers
// have asked something.
func early() *workflow.Progress {
	return &workflow.Progress{ID: "m-7", Schema: 1, State: workflow.Accepted, Operations: []workflow.OperationRecord{
		{ID: "o-ann", Kind: workflow.OperationCancel, State: workflow.OperationPending, Caller: "ann"},
		{ID: "o-bob", Kind: workflow.OperationCancel, State: workflow.OperationPending, Caller: "bob"},
	}}
}

func TestAnothersTransactionIsNotFound(t *testing.T) {
	s, store := newProgress()
	of := document()
	of.Caller = "ann"
	store.documents["t-1"] = of
	store.documents["m-1"] = of
	store.requests["put"] = RequestRecord{ID: "put", TransactionID: "put", Caller: "ann", AcceptedAt: midday}
	for _, caller := range []string{"bob", ""} {
		for _, id := range []string{"t-1", "m-1", "put"} {
			if v, err := s.Get(t.Context(), id, caller); !failure.Is(err, failure.NotFound) {
				t.Errorf("%q gets %s: %+v, %v", caller, id, v, err)
			}
			for _, operation := range []string{"o-2", "m-5", "o-9"} { // on record, maybe on its way, unknown
				if o, err := s.GetOperation(t.Context(), id, operation, caller); !failure.Is(err, failure.NotFound) {
					t.Errorf("%q gets %s of %s: %+v, %v", caller, operation, id, o, err)
				}
			}
		}
	}
	for _, id := range []string{"t-1", "m-1", "put"} {
		if _, err := s.Get(t.Context(), id, "ann"); err != nil {
			t.Errorf("the owner gets %s: %v", id, err)
		}
	}
}

// Ensure that before the delivery everyone sees what they asked for themselves,
// and who asked for nothing what the id alone tells.
func TestWhoseIsNotKnownYet(t *testing.T) {
	s, store := newProgress()
	store.documents["m-7"] = early()
	for caller, want := range map[string][]string{"ann": {"o-ann"}, "bob": {"o-bob"}, "eve": {}} {
		v, err := s.Get(t.Context(), "m-7", caller)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range v.Operations {
			got = append(got, o.ID)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] || v.Observed != (len(want) > 0) {
			t.Errorf("%s sees %+v", caller, v)
		}
	}
	if o, err := s.GetOperation(t.Context(), "m-7", "o-bob", "ann"); !failure.Is(err, failure.NotFound) {
		t.Errorf("ann gets bob's operation: %+v, %v", o, err)
	}
	if o, err := s.GetOperation(t.Context(), "m-7", "o-ann", "ann"); err != nil || !o.Observed {
		t.Errorf("ann gets %+v, %v", o, err)
	}
}

func TestProgressOfATransactionOfNobody(t *testing.T) {
	s, store := newProgress()
	of := document()
	of.Caller = ""
	store.documents["t-1"] = of
	if v, err := s.Get(t.Context(), "t-1", "bob"); err != nil || len(v.Operations) != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// Ensure that a client is not told how our services are reached.
func TestViewTellsNothingOfTheInside(t *testing.T) {
	s, store := newProgress()
	for name, c := range map[string]struct {
		failed workflow.StepError
		told   bool
	}{
		"a refusal":         {workflow.StepError{Status: 422, Type: "too-heavy", Message: "MESSAGE"}, true},
		"an outage":         {workflow.StepError{Status: 503, Message: "MESSAGE"}, true},
		"the business says": {workflow.StepError{Status: 200, Type: "not-accepted", Message: "MESSAGE"}, true},
		"no connection":     {workflow.StepError{Type: "not-sent", Message: "dial tcp 10.0.0.4:443: MESSAGE"}, false},
		"no token":          {workflow.StepError{Type: "no-token", Message: "MESSAGE"}, false},
		"half an answer":    {workflow.StepError{Status: 200, Type: "unreadable", Message: "read tcp 10.0.0.4:443: MESSAGE"}, false},
	} {
		p := document()
		p.Caller = ""
		p.Steps = []workflow.StepProgress{{Name: "package", State: workflow.StepPending, Error: &c.failed}}
		store.documents["t-1"] = p
		v, err := s.Get(t.Context(), "t-1", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Steps[0].Error; got.Message == "" || strings.Contains(got.Message, "MESSAGE") != c.told || got.Type != c.failed.Type {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
