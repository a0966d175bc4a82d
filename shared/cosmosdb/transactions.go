package cosmosdb

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Transactions implements workflow.Store.
type Transactions struct{ c *Container }

var _ workflow.Store = (*Transactions)(nil)

// NewTransactions returns the store of the transactions.
func NewTransactions(db *Database) (*Transactions, error) {
	c, err := db.Container(TransactionsContainer)
	return &Transactions{c}, err
}

// Read returns a transaction and its ETag.
func (s *Transactions) Read(ctx context.Context, id string) (*workflow.Progress, string, error) {
	doc, etag, err := s.c.Read(ctx, id, id)
	if err != nil {
		return nil, "", err
	}
	p := new(workflow.Progress)
	if err := decode(doc, p, "read transaction", id); err != nil {
		return nil, "", err
	}
	return p, etag, nil
}

// Create stores a new transaction.
func (s *Transactions) Create(ctx context.Context, p *workflow.Progress) (string, error) {
	doc, err := encode(p, "create transaction", p.ID)
	if err != nil {
		return "", err
	}
	return s.c.Create(ctx, p.ID, p.ID, doc)
}

// Replace stores a transaction that was read with etag.
func (s *Transactions) Replace(ctx context.Context, p *workflow.Progress, etag string) (string, error) {
	doc, err := encode(p, "replace transaction", p.ID)
	if err != nil {
		return "", err
	}
	return s.c.Replace(ctx, p.ID, p.ID, doc, etag)
}

// Overdue returns a page of transactions whose wake is overdue. Instants are
// stored so that they compare as strings.
func (s *Transactions) Overdue(ctx context.Context, before workflow.Instant, continuation string) ([]string, string, error) {
	docs, next, err := s.c.Page(ctx, Query{
		Text:         "SELECT c.id FROM c WHERE c.wakeAt < @before",
		Parameters:   map[string]any{"@before": before.String()},
		Continuation: continuation,
	})
	if err != nil {
		return nil, "", err
	}
	return idsOf(docs, next)
}

// ByState returns a page of the ids of the transactions in a state, in the
// manner of Overdue.
func (s *Transactions) ByState(ctx context.Context, state workflow.State, continuation string) ([]string, string, error) {
	docs, next, err := s.c.Page(ctx, Query{
		Text:         "SELECT c.id FROM c WHERE c.state = @state",
		Parameters:   map[string]any{"@state": string(state)},
		Continuation: continuation,
	})
	if err != nil {
		return nil, "", err
	}
	return idsOf(docs, next)
}

func idsOf(docs [][]byte, next string) ([]string, string, error) {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		var found struct {
			ID string `json:"id"`
		}
		if err := decode(doc, &found, "read id of transaction", ""); err != nil {
			return nil, "", err
		}
		ids[i] = found.ID
	}
	return ids, next, nil
}
