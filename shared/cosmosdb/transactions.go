package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Transactions implements workflow.Store.
type Transactions struct{ c *Container }

var _ workflow.Store = (*Transactions)(nil)

// NewTransactions returns the store of the transactions.
func NewTransactions(db *Database) *Transactions {
	return &Transactions{db.Container(TransactionsContainer)}
}

// Read returns a transaction and its ETag.
func (s *Transactions) Read(ctx context.Context, id string) (*workflow.Progress, string, error) {
	p, etag, err := business.Read[workflow.Progress](ctx, s.c, id, id)
	if err != nil {
		return nil, "", err
	}
	return &p, etag, nil
}

// Create stores a new transaction.
func (s *Transactions) Create(ctx context.Context, p *workflow.Progress) (string, error) {
	return business.Create(ctx, s.c, p.ID, p.ID, p)
}

// Replace stores a transaction that was read with etag.
func (s *Transactions) Replace(ctx context.Context, p *workflow.Progress, etag string) (string, error) {
	return business.Replace(ctx, s.c, p.ID, p.ID, p, etag)
}

// Overdue returns a page of transactions whose wake is overdue.
func (s *Transactions) Overdue(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	return s.overdue(ctx, "SELECT c.id FROM c WHERE c.wakeAt < @before", before, continuation)
}

// OverdueNotices returns a page of transactions whose notices are overdue. They
// have a query of their own: an outage of the receiver makes many of them, and
// the overdue wakes must not be lost among them.
func (s *Transactions) OverdueNotices(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	return s.overdue(ctx, "SELECT c.id FROM c WHERE c.outbox.at < @before", before, continuation)
}

// Lasting returns a page of transactions whose end nobody can foretell: it implements
// ingest.Lasting.
func (s *Transactions) Lasting(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	return s.overdue(ctx, "SELECT c.id FROM c WHERE c.state IN ('Compensating', 'Stuck') AND c.acceptedAt < @before", before, continuation)
}

// overdue compares instants as strings, as which they are stored in order.
func (s *Transactions) overdue(ctx context.Context, query string, before workflow.Instant, continuation string) ([]string, string, error) {
	page, next, err := business.Page[struct {
		ID string `json:"id"`
	}](ctx, s.c, business.Query{
		Text: query, Parameters: map[string]any{"@before": before.String()}, Continuation: continuation,
	})
	ids := make([]string, len(page))
	for i, found := range page {
		ids[i] = found.ID
	}
	return ids, next, err
}
