package invariant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func checkAccepted(x *index, f *findings) {
	for id := range sorted(x.ledger) {
		f.checked++
		if p := x.transactions[id]; p != nil {
			x.checkEnd(p, f)
			continue
		}
		var accepted []string
		for operation, e := range sorted(x.ledger[id]) {
			accepted = append(accepted, fmt.Sprintf("%s %s at %s", e.Kind, operation, day(e.AcceptedAt)))
		}
		f.broken(id, "lost", "there is no document; accepted were %s", strings.Join(accepted, ", "))
	}
}

func checkUnanswered(x *index, f *findings) {
	for _, id := range x.unanswered() {
		f.checked++
		x.checkEnd(x.transactions[id], f)
	}
}

// checkEnd wants a transaction to be final, or excused.
func (x *index) checkEnd(p *workflow.Progress, f *findings) {
	switch {
	case x.excused(p):
	case p.State == workflow.Stuck:
		f.broken(p.ID, "stuck", "%s", p.Reason)
	case p.State == workflow.GivenUp:
		f.broken(p.ID, "given up", "by no operator: %s", p.Reason)
	case !p.State.Final():
		f.broken(p.ID, "open", "it is %q", p.State)
	}
}

// checkRequests compares what is kept of requests with an id or a key of their
// own with what their clients know. A request that was never answered may have
// left its trace here and nowhere else.
func checkRequests(x *index, f *findings) {
	for _, r := range x.Requests {
		id, e := r.TransactionID, x.ledger[r.TransactionID][r.OperationID]
		first := r.Operation == workflow.OperationDeliver
		if e == nil && !(first && x.delivery(id) != nil) {
			continue
		}
		f.checked++
		switch {
		case e == nil:
			f.broken(id, "request", "operation %s is kept, another one was answered", r.OperationID)
		case r.ID == id && !first, r.ID != id && !strings.HasPrefix(r.ID, ingest.KeyPrefix):
			f.broken(id, "request", "its %s is kept under %s", r.Operation, r.ID)
		case e.Body != nil:
			canonical, err := canonicalOf(r.Operation, e.Body)
			if err != nil {
				f.broken(id, "request", "the %s that was accepted can't be read: %v", r.Operation, err)
			} else if workflow.Hash(r.Operation, id, canonical) != r.Hash {
				f.broken(id, "request", "its %s was kept with another content than it was sent with", r.Operation)
			}
		}
	}
}

// canonicalOf returns the one form of an operation's body.
func canonicalOf(kind workflow.OperationKind, body json.RawMessage) (json.RawMessage, error) {
	if kind != workflow.OperationReschedule {
		return canonicalRequest(body)
	}
	c, err := delivery.ParseChange(body, time.Time{})
	if err != nil {
		return nil, err
	}
	return c.Canonical()
}

// delivery returns what the ledger tells of a transaction's delivery: the
// operation that was carried out, or else the first; nil if it tells nothing.
func (x *index) delivery(id string) *LedgerEntry {
	var first *LedgerEntry
	for operation, e := range sorted(x.ledger[id]) {
		if e.Kind != workflow.OperationDeliver {
			continue
		}
		if p := x.transactions[id]; p != nil {
			if o := p.Operation(operation); o != nil && o.State == workflow.OperationApplied {
				return e
			}
		}
		if first == nil {
			first = e
		}
	}
	return first
}

// canonicalRequest returns the one form of a request.
func canonicalRequest(body json.RawMessage) (json.RawMessage, error) {
	r, err := delivery.Parse(body, time.Time{})
	if err != nil {
		return nil, err
	}
	return r.Canonical()
}

// sameRequest reports whether two requests ask for the same.
func sameRequest(a, b json.RawMessage) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	first, err := canonicalRequest(a)
	if err != nil {
		return false, err
	}
	second, err := canonicalRequest(b)
	return bytes.Equal(first, second), err
}
