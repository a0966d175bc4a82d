package cosmosdb

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var _ operate.Listing = (*Transactions)(nil)

// summaryQuery projects a transaction to what a list shows of it. _ts is when
// the service last wrote it, in seconds since 1970
// (https://learn.microsoft.com/azure/cosmos-db/resource-model).
const summaryQuery = "SELECT c.id, c.state, c.cause, c.reason, c.revision, c.acceptedAt, c.endedAt, c.wakeAt, c.deadLetters, c._ts FROM c WHERE c.state = @state"

// ByState returns a page of the transactions in a state, in no order, and the
// continuation of the next page. Invalid for a continuation that no page gave.
func (s *Transactions) ByState(ctx context.Context, state workflow.State, continuation string) ([]operate.Summary, string, error) {
	page, next, err := business.Page[struct {
		operate.Summary
		Written int64 `json:"_ts"`
	}](ctx, s.c, business.Query{
		Text: summaryQuery, Parameters: map[string]any{"@state": string(state)}, Continuation: continuation,
	})
	summaries := make([]operate.Summary, len(page))
	for i, found := range page {
		summaries[i] = found.Summary
		summaries[i].ChangedAt = workflow.At(time.Unix(found.Written, 0))
	}
	return summaries, next, err
}
