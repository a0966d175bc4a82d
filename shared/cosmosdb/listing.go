package cosmosdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var _ operate.Listing = (*Transactions)(nil)

// listed projects a transaction to what a list needs. _ts is when the service last
// wrote it, in seconds since 1970
// (https://learn.microsoft.com/azure/cosmos-db/resource-model).
const listed = "SELECT c.id, c.state, c.cause, c.reason, c.caller, c.revision, c.acceptedAt, c.endedAt, c.wakeAt, c.deadLetters, c.steps, c.history, c._ts FROM c"

// Find implements operate.Listing. Every condition is on an indexed path: _ts has an
// index in every container whose indexing is consistent
// (https://learn.microsoft.com/azure/cosmos-db/index-policy).
func (s *Transactions) Find(ctx context.Context, where operate.Where, continuation string) ([]operate.Listed, string, error) {
	text, parameters := conditions(where)
	page, next, err := business.Page[struct {
		workflow.Progress
		Written int64 `json:"_ts"`
	}](ctx, s.c, business.Query{Text: listed + text, Parameters: parameters, Continuation: continuation})
	found := make([]operate.Listed, len(page))
	for i, p := range page {
		found[i] = operate.Listed{Progress: p.Progress, ChangedAt: workflow.At(time.Unix(p.Written, 0))}
	}
	return found, next, err
}

// conditions returns the WHERE clause. What finds the fewest comes first: an engine
// may use one index alone.
func conditions(where operate.Where) (text string, parameters map[string]any) {
	parameters = map[string]any{}
	var all []string
	add := func(name, condition string, value any) string {
		parameters[name] = value
		return condition + name
	}
	if where.Key != "" {
		all = append(all, add("@key", `c.request["`+strings.ReplaceAll(where.Key, ".", `"]["`)+`"] = `, where.Value))
	}
	if where.Caller != "" {
		all = append(all, add("@caller", "c.caller = ", where.Caller))
	}
	var states []string
	for i, state := range where.States {
		states = append(states, add(fmt.Sprintf("@state%d", i), "c.state = ", string(state)))
	}
	if len(states) > 0 {
		all = append(all, "("+strings.Join(states, " OR ")+")")
	}
	if !where.WrittenSince.IsZero() {
		all = append(all, add("@since", "c._ts >= ", where.WrittenSince.Unix()))
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), parameters
}
