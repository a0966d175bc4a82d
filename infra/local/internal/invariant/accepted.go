package invariant

import (
	"fmt"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func checkAccepted(x *index, f *trial.Findings) {
	for id := range trial.Sorted(x.ledger) {
		f.Checked++
		if p := x.transactions[id]; p != nil {
			x.checkEnd(p, f)
			continue
		}
		var accepted []string
		for operation, e := range trial.Sorted(x.ledger[id]) {
			accepted = append(accepted, fmt.Sprintf("%s %s at %s", e.Kind, operation, day(e.AcceptedAt)))
		}
		f.Broken(id, "lost", "there is no document; accepted were %s", strings.Join(accepted, ", "))
	}
}

func checkUnanswered(x *index, f *trial.Findings) {
	for _, id := range x.unanswered() {
		f.Checked++
		x.checkEnd(x.transactions[id], f)
	}
}

// checkEnd wants a transaction to be final, or excused.
func (x *index) checkEnd(p *workflow.Progress, f *trial.Findings) {
	switch {
	case x.excused(p):
	case p.State == workflow.Stuck:
		f.Broken(p.ID, "stuck", "%s", p.Reason)
	case p.State == workflow.GivenUp:
		f.Broken(p.ID, "given up", "by no operator: %s", p.Reason)
	case !p.State.Final():
		f.Broken(p.ID, "open", "it is %q", p.State)
	}
}

// checkRequests compares what is kept of requests with an id or a key of their
// own with what their clients know. A request that was never answered may have
// left its trace here and nowhere else.
func checkRequests(x *index, f *trial.Findings) {
	for _, r := range x.Requests {
		id, e := r.TransactionID, x.ledger[r.TransactionID][r.OperationID]
		first := r.Operation == workflow.OperationStart
		if e == nil && !(first && x.start(id) != nil) {
			continue
		}
		f.Checked++
		switch {
		case e == nil:
			f.Broken(id, "request", "operation %s is kept, another one was answered", r.OperationID)
		case r.ID == id && !first, r.ID != id && !strings.HasPrefix(r.ID, ingest.KeyPrefix):
			f.Broken(id, "request", "its %s is kept under %s", r.Operation, r.ID)
		case e.Body != nil:
			canonical, err := x.canonical(r.Operation, e.Body)
			if err != nil {
				f.Broken(id, "request", "the %s that was accepted can't be read: %v", r.Operation, err)
			} else if workflow.Hash(r.Operation, id, canonical) != r.Hash {
				f.Broken(id, "request", "its %s was kept with another content than it was sent with", r.Operation)
			}
		}
	}
}

// start returns what the ledger tells of the start of a transaction: the
// operation that was carried out, or else the first; nil if it tells nothing.
func (x *index) start(id string) *LedgerEntry {
	var first *LedgerEntry
	for operation, e := range trial.Sorted(x.ledger[id]) {
		if e.Kind != workflow.OperationStart {
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
