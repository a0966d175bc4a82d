package ingest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func inputOf(caller, body string) Input {
	in := input(body)
	in.Caller = caller
	return in
}

// ofAnn is a transaction of Ann's in a state.
func ofAnn(state workflow.State) *workflow.Progress {
	return &workflow.Progress{
		ID: "id", State: state, Caller: "ann", Revision: 1, Request: json.RawMessage(`{"a":1}`),
		Operations: []workflow.OperationRecord{{ID: "o-1", Kind: workflow.OperationStart}},
	}
}

// Ensure that another's transaction is refused as an unknown one is, before
// anything else about it is looked at, and that nothing is sent for it.
func TestChangeOfAnothersTransaction(t *testing.T) {
	for name, prepare := range map[string]func(*bench){
		"open":  func(b *bench) { b.transactions.documents["id"] = ofAnn(workflow.Running) },
		"past":  func(b *bench) { b.transactions.documents["id"] = ofAnn(workflow.Rejected) },
		"asked": func(b *bench) { b.requests.kept["id"] = RequestRecord{ID: "id", TransactionID: "id", Caller: "ann"} },
	} {
		for _, caller := range []string{"bob", ""} {
			for _, key := range []string{"", "key"} {
				t.Run(name+" by "+caller+" with key "+key, func(t *testing.T) {
					b := newBench()
					prepare(b)
					_, patched := b.Patch(t.Context(), "id", inputOf(caller, `{"a":2}`), key)
					_, deleted := b.Delete(t.Context(), "id", inputOf(caller, ""), key)
					for _, err := range []error{patched, deleted} {
						var past *PastError
						if !failure.Is(err, failure.NotFound) || errors.As(err, &past) {
							t.Errorf("got %v, want not found", err)
						}
					}
					if len(b.log.events) > 0 {
						t.Errorf("sent %s", b.log.events[0].Body)
					}
					if _, err := b.Delete(t.Context(), "id", inputOf("ann", ""), ""); failure.Is(err, failure.NotFound) {
						t.Errorf("the owner: %v", err)
					}
				})
			}
		}
	}
}

// Ensure that what was accepted while callers were not known is everybody's, as
// it was then.
func TestTransactionOfNobody(t *testing.T) {
	b := newBench()
	p := ofAnn(workflow.Running)
	p.Caller = ""
	b.transactions.documents["id"] = p
	if _, err := b.Delete(t.Context(), "id", inputOf("bob", ""), ""); err != nil {
		t.Error(err)
	}
}

// Ensure that an id that another has taken is refused in one way, whether the
// content is the same or not, and in whatever state the transaction is.
func TestPutOfAnothersID(t *testing.T) {
	for name, prepare := range map[string]func(*bench){
		"asked": func(*bench) {},
		"open":  func(b *bench) { b.transactions.documents["id"] = ofAnn(workflow.Running) },
		"posted": func(b *bench) {
			b.transactions.documents["id"] = ofAnn(workflow.Running)
			delete(b.requests.kept, "id")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			if _, err := b.Put(t.Context(), "id", inputOf("ann", `{"a":1}`)); err != nil {
				t.Fatal(err)
			}
			prepare(b)
			sent := len(b.log.events)
			for _, body := range []string{`{"a":1}`, `{"a":2}`} {
				if _, err := b.Put(t.Context(), "id", inputOf("bob", body)); !errors.Is(err, ErrOtherContent) {
					t.Errorf("%s: got %v", body, err)
				}
			}
			if len(b.log.events) > sent {
				t.Error("another's request was sent")
			}
			if r, err := b.Put(t.Context(), "id", inputOf("ann", `{"a":1}`)); err != nil || !r.Repeated {
				t.Errorf("the owner's repeat: %+v, %v", r, err)
			}
		})
	}
}
