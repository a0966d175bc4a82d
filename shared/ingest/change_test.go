package ingest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestChangeOfWhat(t *testing.T) {
	running := &workflow.Progress{ID: "id", State: workflow.Running}
	cases := []struct {
		name string
		id   string
		p    *workflow.Progress
		age  time.Duration // of minted ids
		kept bool
		kind failure.Kind // of the error; Transient (0) means none
	}{
		{name: "an open transaction", id: "id", p: running},
		{name: "a minted id whose event is on its way", id: "m-5"},
		{name: "a minted id of another instance whose clock is ahead", id: "m-5", age: -time.Second},
		{name: "a minted id from the future", id: "m-5", age: -time.Hour, kind: failure.NotFound},
		{name: "a minted id older than the hub's retention", id: "m-5", age: 25 * time.Hour, kind: failure.NotFound},
		{name: "an id that was put", id: "id", kept: true},
		{name: "an unknown id", id: "id", kind: failure.NotFound},
	}
	for _, c := range cases {
		for _, key := range []string{"", "key"} {
			t.Run(c.name+" with key "+key, func(t *testing.T) {
				b := newBench()
				b.now = noon.Add(c.age)
				if c.p != nil {
					b.transactions.documents[c.id] = c.p
				}
				if c.kept {
					b.requests.kept[c.id] = RequestRecord{ID: c.id, TransactionID: c.id}
				}
				r, err := b.Delete(t.Context(), c.id, input(""), key)
				if c.kind != failure.Transient {
					if !failure.Is(err, c.kind) || len(b.log.events) > 0 {
						t.Errorf("got %+v, %v, want kind %v", r, err, c.kind)
					}
					return
				}
				if err != nil || r.TransactionID != c.id || r.OperationID == "" {
					t.Fatalf("got %+v, %v", r, err)
				}
				if sent := b.sent(t); len(sent) != 1 || sent[0].Operation != "cancel" || sent[0].OperationID != r.OperationID {
					t.Errorf("sent %+v", sent)
				}
			})
		}
	}
}

// A change's key is no transaction, though a request is kept under its id.
func TestIDOfAChangesKeyIsUnknown(t *testing.T) {
	b := newBench()
	if _, err := b.Delete(t.Context(), "m-9", input(""), "key"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Delete(t.Context(), keyID("ann", "key"), input(""), ""); !failure.Is(err, failure.NotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

func TestPastTransaction(t *testing.T) {
	b := newBench()
	b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Rejected}
	_, err := b.Patch(t.Context(), "id", input(`{"a":1}`), "")
	var past *PastError
	if !errors.As(err, &past) || !failure.Is(err, failure.Conflict) {
		t.Fatalf("got %v, want a *PastError that is a conflict", err)
	}
	want(t, *past, nil, PastError{TransactionID: "id", State: workflow.Rejected, Reason: "too late for a reschedule"})
}

// Ensure that what the document has no room for is refused before it is accepted,
// in the workflow's words.
func TestNoRoom(t *testing.T) {
	reschedules := func(n, bytes int) []workflow.OperationRecord {
		return slices.Repeat([]workflow.OperationRecord{{Kind: workflow.OperationReschedule, Bytes: bytes}}, n)
	}
	for name, c := range map[string]struct {
		had     []workflow.OperationRecord
		refusal string
	}{
		"as many as it takes":   {reschedules(50, 10), "a transaction takes at most 50 operations of the kind reschedule"},
		"one less":              {reschedules(49, 10), ""},
		"as large as it takes":  {reschedules(8, 64<<10), "a transaction takes at most 524288 bytes of changes"},
		"one less of that size": {reschedules(7, 64<<10), ""},
	} {
		b := newBench()
		b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Running, Operations: c.had}
		_, err := b.Patch(t.Context(), "id", input(`{"a":1}`), "")
		var past *PastError
		if errors.As(err, &past) != (c.refusal != "") || past == nil && err != nil || past != nil && past.Reason != c.refusal {
			t.Errorf("%s: %v, want %q", name, err, c.refusal)
		}
		if sent := len(b.log.events); (sent == 0) != (c.refusal != "") {
			t.Errorf("%s: %d sent", name, sent)
		}
		if _, err := b.Delete(t.Context(), "id", input(""), ""); err != nil {
			t.Errorf("%s: a cancel: %v", name, err)
		}
	}
}

// The repeat of a cancel is answered as the first was, though the transaction
// is past a cancel because of it.
func TestRepeatWithKeyOfAnAppliedCancel(t *testing.T) {
	b := newBench()
	b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Running}
	first, err := b.Delete(t.Context(), "id", input(""), "key")
	if err != nil {
		t.Fatal(err)
	}
	b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Cancelled}
	first.Repeated = true
	again, err := b.Delete(t.Context(), "id", input(""), "key")
	want(t, again, err, first)
	var past *PastError
	if _, err := b.Delete(t.Context(), "id", input(""), "another key"); !errors.As(err, &past) {
		t.Errorf("another cancel: %v, want that it is past", err)
	}
}
