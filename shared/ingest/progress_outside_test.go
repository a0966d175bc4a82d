package ingest

import (
	"context"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure that an operation outside of its transaction is told to whoever asked
// for it, whosever the transaction is and whatever has become of it, and to
// nobody else.
func TestOperationOutside(t *testing.T) {
	for name, prepare := range map[string]func(*stores){
		"of another's": func(s *stores) {
			s.documents["m-1"] = &workflow.Progress{ID: "m-1", Caller: "ann", Operations: delivered}
		},
		"of one's own": func(s *stores) {
			s.documents["m-1"] = &workflow.Progress{ID: "m-1", Caller: "bob", Operations: delivered}
		},
		"of nobody's yet":       func(s *stores) { s.documents["m-1"] = &workflow.Progress{ID: "m-1"} },
		"of what is not stored": func(*stores) {},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := newProgress()
			prepare(store)
			refused := workflow.OutsideOperation{
				ID: workflow.OutsideID("o-9"), TransactionID: "m-1", OperationID: "o-9", Operation: workflow.OperationCancel, Caller: "bob",
				AcceptedAt: workflow.At(midday), State: workflow.OperationRefused, Reason: "no", EndedAt: workflow.At(midday),
			}
			if err := store.outside.Create(t.Context(), refused); err != nil {
				t.Fatal(err)
			}
			want := OperationView{
				ID: "o-9", TransactionID: "m-1", Kind: workflow.OperationCancel, State: workflow.OperationRefused, Observed: true,
				Reason: "no", AcceptedAt: workflow.At(midday), EndedAt: workflow.At(midday),
			}
			if got, err := s.GetOperation(t.Context(), "m-1", "o-9", "bob"); err != nil || got != want {
				t.Errorf("its caller gets %+v, %v", got, err)
			}
			for _, c := range [][2]string{{"m-1", "eve"}, {"m-1", ""}, {"m-2", "bob"}} {
				if got, err := s.GetOperation(t.Context(), c[0], "o-9", c[1]); !failure.Is(err, failure.NotFound) {
					t.Errorf("%q gets %+v of %s, %v", c[1], got, c[0], err)
				}
			}
		})
	}
}

var delivered = []workflow.OperationRecord{{ID: "o-1", Kind: workflow.OperationStart}}

// Ensure that a store that is down is not taken for one without the operation.
func TestOperationOutsideIsOutOfReach(t *testing.T) {
	s, store := newProgress()
	store.documents["m-1"] = &workflow.Progress{ID: "m-1", Caller: "ann", Operations: delivered}
	store.outside.Gate.Decide = func(string, int) workflowtest.Fate { return workflowtest.Refuse }
	for _, caller := range []string{"ann", "bob"} {
		if _, err := s.GetOperation(context.Background(), "m-1", "o-9", caller); err == nil || failure.KindOf(err) != failure.Transient {
			t.Errorf("%s: %v, want a transient failure", caller, err)
		}
	}
}
