package cosmosdb

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/fabrikam/drone-delivery/shared/failure"
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
	docs, next, err := s.c.list(ctx, Query{
		Text: summaryQuery, Parameters: map[string]any{"@state": string(state)}, Continuation: continuation,
	})
	if err != nil {
		return nil, "", err
	}
	summaries := make([]operate.Summary, len(docs))
	for i, doc := range docs {
		var found struct {
			operate.Summary
			Written int64 `json:"_ts"`
		}
		if err := decode(doc, &found, "read summary of transaction", ""); err != nil {
			return nil, "", err
		}
		found.ChangedAt = workflow.At(time.Unix(found.Written, 0))
		summaries[i] = found.Summary
	}
	return summaries, next, nil
}

// list is Page for a continuation that people have given: one that the service
// does not take is their mistake, not the app's.
func (c *Container) list(ctx context.Context, q Query) ([][]byte, string, error) {
	docs, next, err := c.Page(ctx, q)
	var answer *azcore.ResponseError
	if q.Continuation != "" && errors.As(err, &answer) && answer.StatusCode == http.StatusBadRequest {
		return nil, "", failure.New(failure.Invalid, "query", c.name, errors.New("the continuation is not one of this list"))
	}
	return docs, next, err
}
