// Package operatetest has what tests of operators' work need.
package operatetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Listing lists what a store in memory has, two in a page behind an empty one. The
// store doesn't know when it was written: all of it counts as written since ever, at
// its last change of state.
type Listing struct{ Store *workflowtest.Store }

var _ operate.Listing = Listing{}

const pageSize = 2

// Find implements operate.Listing.
func (l Listing) Find(_ context.Context, where operate.Where, continuation string) ([]operate.Listed, string, error) {
	if _, err := l.Store.Gate.Ask("list transactions"); err != nil {
		return nil, "", err
	}
	after, found := strings.CutPrefix(continuation, "after ")
	switch {
	case continuation == "":
		return nil, "after ", nil
	case !found:
		return nil, "", failure.New(failure.Invalid, "page", continuation, nil)
	}
	var page []operate.Listed
	for _, p := range l.Store.All() {
		if p.ID <= after || !has(where, p) {
			continue
		}
		if len(page) == pageSize {
			return page, "after " + page[len(page)-1].ID, nil
		}
		one := operate.Listed{Progress: *p}
		if len(p.History) > 0 {
			one.ChangedAt = p.History[len(p.History)-1].At
		}
		page = append(page, one)
	}
	return page, "", nil
}

func has(where operate.Where, p *workflow.Progress) bool {
	return (len(where.States) == 0 || slices.Contains(where.States, p.State)) &&
		(where.Caller == "" || p.Caller == where.Caller) &&
		(where.Key == "" || valueAt(p.Request, where.Key) == where.Value)
}

// valueAt returns the text in a field of a JSON object, "" if there is none.
func valueAt(object json.RawMessage, path string) (text string) {
	for part := range strings.SplitSeq(path, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(object, &fields) != nil {
			return ""
		}
		object = fields[part]
	}
	_ = json.Unmarshal(object, &text) // what isn't a text is none
	return text
}
